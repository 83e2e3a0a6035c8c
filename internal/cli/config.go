package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/vancetope/transfer/internal/safetext"
	"github.com/vancetope/transfer/internal/settings"
)

// PrintSettings prints the settings in force, with where each comes from: for
// people in columns, or as a JSON array.
func PrintSettings(w io.Writer, values []settings.Value, asJSON bool) error {
	if asJSON {
		return written(json.NewEncoder(w).Encode(values))
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	// A tabwriter keeps its first error for Flush.
	fmt.Fprintln(t, "SETTING\tVALUE\tORIGIN")
	for _, v := range values {
		value := safetext.Escape(v.Value)
		if value == "" {
			value = "(none)"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", v.Name, value, v.Origin)
	}
	return written(t.Flush())
}
