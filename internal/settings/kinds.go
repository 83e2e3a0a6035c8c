package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/vancetope/transfer/gen/common"
)

// kind is a type of value: how it is written, what is allowed, and the field it
// is kept in.
type kind interface {
	// assign puts the value of text into its field and returns it in its one
	// canonical notation.
	assign(s *Settings, text string) (string, error)
	// allowed says what may be written instead.
	allowed() string
}

var errRange = errors.New("is out of range")

// size is a number of bytes from min to max.
type size struct {
	min, max int64
	field    func(*Settings) *int64
}

func (k size) assign(s *Settings, text string) (string, error) {
	n, err := ParseSize(text)
	if err != nil {
		return "", err
	}
	if n < k.min || n > k.max {
		return "", errRange
	}
	*k.field(s) = n
	return FormatSize(n), nil
}

func (k size) allowed() string {
	return fmt.Sprintf("a size from %s to %s, as plain bytes or with B, KiB, MiB, GiB, TiB or PiB", FormatSize(k.min), FormatSize(k.max))
}

// noLimit as the upper end of a duration's range leaves it open.
const noLimit = time.Duration(math.MaxInt64)

// duration is a span of time from min to max.
type duration struct {
	min, max time.Duration
	field    func(*Settings) *time.Duration
}

func (k duration) assign(s *Settings, text string) (string, error) {
	d, err := ParseDuration(text)
	if err != nil {
		return "", err
	}
	if d < k.min || d > k.max {
		return "", errRange
	}
	*k.field(s) = d
	return d.String(), nil
}

func (k duration) allowed() string {
	if k.max == noLimit {
		return fmt.Sprintf("a duration of at least %s, such as 1s, 500ms or 2m", k.min)
	}
	return fmt.Sprintf("a duration from %s to %s, such as 1s, 500ms or 2m", k.min, k.max)
}

// mask is a set of permission bits, octal however it is written.
type mask struct {
	field func(*Settings) *fs.FileMode
}

func (k mask) assign(s *Settings, text string) (string, error) {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "0o"), "0O")
	n, err := strconv.ParseUint(digits, 8, 32)
	if err != nil {
		if errors.Is(err, strconv.ErrRange) {
			return "", errRange
		}
		return "", errors.New("is not octal")
	}
	if n > 0o777 {
		return "", errRange
	}
	*k.field(s) = fs.FileMode(n)
	return fmt.Sprintf("%04o", n), nil
}

func (k mask) allowed() string { return "octal permission bits from 0000 to 0777, such as 0644" }

// path is a place on this machine; it is kept absolute. An optional one may be
// empty, which leaves the choice to the program.
type path struct {
	field    func(*Settings) *string
	optional bool
}

func (k path) assign(s *Settings, text string) (string, error) {
	if k.optional && text == "" {
		*k.field(s) = ""
		return "", nil
	}
	p, err := ExpandPath(text)
	if err != nil {
		return "", err
	}
	*k.field(s) = p
	return p, nil
}

func (k path) allowed() string { return "the path of a folder; a leading ~/ is the home directory" }

// number is a count from min to max.
type number struct {
	min, max int
	field    func(*Settings) *int
}

func (k number) assign(s *Settings, text string) (string, error) {
	n, err := strconv.Atoi(text)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return "", errRange
	case err != nil:
		return "", errors.New("is not a whole number")
	case n < k.min || n > k.max:
		return "", errRange
	}
	*k.field(s) = n
	return strconv.Itoa(n), nil
}

func (k number) allowed() string { return fmt.Sprintf("a whole number from %d to %d", k.min, k.max) }

// toggle is on or off.
type toggle struct {
	field func(*Settings) *bool
}

func (k toggle) assign(s *Settings, text string) (string, error) {
	switch strings.ToLower(text) {
	case "on", "true", "yes":
		*k.field(s) = true
		return "on", nil
	case "off", "false", "no":
		*k.field(s) = false
		return "off", nil
	}
	return "", errors.New("is neither on nor off")
}

func (k toggle) allowed() string { return "on or off" }

// access is a level of access.
type access struct {
	field func(*Settings) *common.Access
}

func (k access) assign(s *Settings, text string) (string, error) {
	switch a := common.Access(text); a {
	case common.AccessRead, common.AccessEdit:
		*k.field(s) = a
		return text, nil
	}
	return "", errors.New("is no level of access")
}

func (k access) allowed() string { return "read or edit" }

// confirm says which transfers a person is asked about.
type confirm struct {
	field func(*Settings) *Confirm
}

func (k confirm) assign(s *Settings, text string) (string, error) {
	switch c := Confirm(text); c {
	case ConfirmNever, ConfirmWrites, ConfirmAll:
		*k.field(s) = c
		return text, nil
	}
	return "", errors.New("is no choice")
}

func (k confirm) allowed() string { return "never or writes or all" }

// address is a place to listen at.
type address struct {
	field    func(*Settings) *string
	optional bool // may be empty, for nowhere
}

func (k address) assign(s *Settings, text string) (string, error) {
	if text == "" && k.optional {
		*k.field(s) = ""
		return "", nil
	}
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return "", errors.New("is not HOST:PORT")
	}
	// A name of a service, such as http, is one too.
	if n, err := strconv.Atoi(port); port == "" || err == nil && (n < 0 || n > 65535) || errors.Is(err, strconv.ErrRange) {
		return "", errors.New("has no port from 0 to 65535")
	}
	*k.field(s) = text
	return text, nil
}

func (k address) allowed() string { return "an address such as 127.0.0.1:9990 or [::1]:0" }

// publicURL is where others reach a program; it may be empty.
type publicURL struct {
	field func(*Settings) *string
}

func (k publicURL) assign(s *Settings, text string) (string, error) {
	if text == "" {
		*k.field(s) = ""
		return "", nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return "", errors.New("is not an address of the web")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(text, "#"):
		return "", errors.New("has a user, a query or a fragment")
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	*k.field(s) = u.String()
	return u.String(), nil
}

func (k publicURL) allowed() string {
	return "an address such as https://brain.example or https://example.com/brain"
}

// units by their size, largest first.
var units = []struct {
	name  string
	bytes int64
}{
	{"PiB", 1 << 50}, {"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1},
}

// ParseSize reads a number of bytes: digits, with an optional binary unit. The
// decimal units (kB, MB) and bare letters are refused, as they mean different
// things to different people.
func ParseSize(text string) (int64, error) {
	digits := strings.TrimRight(text, "BKMGTPEibkmgtpe ")
	unit := strings.TrimSpace(text[len(digits):])
	factor := int64(1)
	if unit != "" {
		factor = 0
		for _, u := range units {
			if strings.EqualFold(u.name, unit) {
				factor = u.bytes
			}
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errRange
	case err != nil || factor == 0:
		return 0, errors.New("is not a size")
	case n > math.MaxInt64/factor || n < math.MinInt64/factor:
		return 0, errRange
	}
	return n * factor, nil
}

// FormatSize writes n in the largest unit that divides it.
func FormatSize(n int64) string {
	for _, u := range units {
		if n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// ParseDuration reads Go's notation and, before it or alone, days: 90d, 1d12h.
func ParseDuration(text string) (time.Duration, error) {
	bad := errors.New("is not a duration")
	days, rest, found := strings.Cut(text, "d")
	if !found {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, bad
		}
		return d, nil
	}
	n, err := strconv.ParseUint(days, 10, 32)
	if errors.Is(err, strconv.ErrRange) || n > uint64(math.MaxInt64/(24*time.Hour)) {
		return 0, ErrTooLong
	}
	if err != nil {
		return 0, bad
	}
	var more time.Duration
	if rest != "" {
		if more, err = time.ParseDuration(rest); err != nil || more < 0 {
			return 0, bad
		}
	}
	total := time.Duration(n)*24*time.Hour + more
	if total < 0 {
		return 0, ErrTooLong
	}
	return total, nil
}

// ErrTooLong is a duration that cannot be counted.
var ErrTooLong = fmt.Errorf("is too long: at most %dd", math.MaxInt64/(24*time.Hour))

// ExpandPath replaces a leading ~ by the home directory and makes the path
// absolute.
func ExpandPath(text string) (string, error) {
	if text == "" || strings.ContainsRune(text, 0) {
		return "", errors.New("is not a path")
	}
	if strings.HasPrefix(text, "~") {
		rest := text[1:]
		if rest != "" && !os.IsPathSeparator(rest[0]) {
			return "", errors.New("is not expanded: only ~/ is; write ./~… for a folder that is called so")
		}
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("needs a home directory: %w", err)
		}
		text = filepath.Join(home, rest)
	}
	return filepath.Abs(text)
}
