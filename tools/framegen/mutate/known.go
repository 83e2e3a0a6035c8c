package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

// equivalent begins the heading of those survivors that no test can tell from
// the original; the others count as missed.
const equivalent = "## Equivalent: "

// explanation is where MUTANTS.md explains a survivor.
type explanation struct {
	heading    string
	equivalent bool
}

// readKnown reads the items of MUTANTS.md: each line "- `key`" stands for a
// survivor, explained by the heading above it.
func readKnown(path string) (map[string]explanation, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out := map[string]explanation{}
	var above explanation
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "## ") {
			above = explanation{line, strings.HasPrefix(line, equivalent)}
		}
		if key, ok := strings.CutPrefix(line, "- `"); ok {
			key = strings.TrimSuffix(key, "`")
			if _, twice := out[key]; twice {
				return nil, fmt.Errorf("%s lists %s twice", path, key)
			}
			out[key] = above
		}
	}
	return out, nil
}

// conclude prints the figures and fails on what MUTANTS.md does not say, or says
// wrongly.
func conclude(all, picked []mutant, verdicts map[int]string, explained map[string]explanation) error {
	kinds := map[string][2]int{}
	exists := map[string]bool{}
	for _, m := range all {
		exists[m.Key] = true
	}
	killed, same, missed := 0, 0, 0
	var wrong []string
	for _, m := range picked {
		e, listed := explained[m.Key]
		count := kinds[m.Kind]
		count[0]++
		switch died := strings.HasPrefix(verdicts[m.ID], "killed"); {
		case died:
			killed++
			count[1]++
			if listed {
				wrong = append(wrong, "is listed and killed, remove it: - `"+m.Key+"`\n      "+verdicts[m.ID])
			}
		case !listed:
			missed++
			wrong = append(wrong, verdicts[m.ID]+", find a test or a reason: - `"+m.Key+"`")
		case e.equivalent:
			same++
		default:
			missed++
		}
		kinds[m.Kind] = count
	}
	for key := range explained {
		if !exists[key] {
			wrong = append(wrong, "is listed, but there is no such mutant: - `"+key+"`")
		}
	}
	printKinds(kinds)
	rate := 100 * float64(killed) / float64(max(1, killed+missed))
	fmt.Printf("%d mutants of %d: %d killed, %d equivalent, %d missed: %.1f %% of the others are killed\n",
		len(picked), len(all), killed, same, missed, rate)
	sort.Strings(wrong)
	for _, w := range wrong {
		fmt.Println("  " + w)
	}
	switch {
	case len(wrong) > 0:
		return fmt.Errorf("%d mutants are not as %s says", len(wrong), known)
	case rate < 95:
		return fmt.Errorf("fewer than 95 %% are killed")
	}
	return nil
}

func printKinds(kinds map[string][2]int) {
	var names []string
	for name := range kinds {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Printf("  %-16s %4d mutants, %4d killed\n", name, kinds[name][0], kinds[name][1])
	}
}
