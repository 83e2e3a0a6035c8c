package control

import (
	"fmt"
	"os"
)

// reach gives the address of a socket in a folder, however long the folder's
// path is: the kernel takes it by the folder's descriptor.
func reach(dir, name string, use func(address string) error) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close() // only looked through
	return use(fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), name))
}
