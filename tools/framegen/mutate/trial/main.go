// Command trial judges mutants of the generated code, which `mutate` built it
// with: it turns them on one by one and tries what difftest tries and the vectors
// say, until something differs from the schemas. It reads the numbers of mutants
// and writes a verdict a line; alone, without the mutants in it, it refuses to run.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// switchboard is how the mutants are turned on; see switches.go.txt.
type switchboard interface {
	Set(id string) error
	Rest()
	Record(on bool)
	Reached() []int
}

func main() {
	edits := flag.Int("edits", 20_000, "how many random edits follow the instances at every limit")
	flag.Parse()
	if err := run(*edits); err != nil {
		fmt.Fprintln(os.Stderr, "trial:", err)
		os.Exit(1)
	}
}

func run(edits int) error {
	f := flag.Lookup("mutant")
	if f == nil {
		return fmt.Errorf("there are no mutants in this program; run make mutate")
	}
	board, ok := f.Value.(switchboard)
	if !ok {
		return fmt.Errorf("switches.go.txt and this program do not fit")
	}
	all, err := instances(edits)
	if err != nil {
		return err
	}
	reach, err := rehearse(board, all)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "trial: %d instances\n", len(all))
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		id, err := strconv.Atoi(strings.TrimSpace(in.Text()))
		if err != nil {
			return err
		}
		if err := board.Set(strconv.Itoa(id)); err != nil {
			return err
		}
		verdict := "survived"
		if len(reach[id]) == 0 {
			verdict = "unreached"
		}
		for _, i := range reach[id] {
			board.Rest()
			if difference := attempt(all[i]); difference != "" {
				verdict = "killed by " + all[i].name + ": " + difference
				break
			}
		}
		fmt.Printf("%d %.300q\n", id, verdict)
	}
	return board.Set("-1")
}

// rehearse tries every instance without a mutant, which must show no difference,
// and notes which mutants each one passes.
func rehearse(board switchboard, all []instance) (map[int][]int, error) {
	board.Record(true)
	defer board.Record(false)
	reach := map[int][]int{}
	for i, one := range all {
		board.Rest()
		if difference := attempt(one); difference != "" {
			return nil, fmt.Errorf("without a mutant %s differs: %.300s", one.name, difference)
		}
		for _, id := range board.Reached() {
			reach[id] = append(reach[id], i)
		}
	}
	return reach, nil
}

// attempt tries an instance; what panics differs.
func attempt(one instance) (difference string) {
	defer func() {
		if r := recover(); r != nil {
			difference = fmt.Sprint("panic: ", r)
		}
	}()
	return one.try()
}
