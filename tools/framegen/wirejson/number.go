package wirejson

import "strconv"

const (
	longestNumber   = 64
	largestExponent = 100
	// digitsKept is more than any bound has; a longer number is out of range.
	digitsKept = 18
)

// parseInt returns the integer that a JSON number literal stands for.
func parseInt(raw []byte, least, most int64) (int64, *Fault) {
	n, simple := parsePlain(raw)
	if !simple {
		var f *Fault
		if n, f = parseAny(raw); f != nil {
			return 0, f
		}
	}
	return n, Range(n, least, most)
}

// Range checks bounds.
func Range(n, least, most int64) *Fault {
	if n < least {
		return New("minimum", "must be at least "+strconv.FormatInt(least, 10))
	}
	if n > most {
		return New("maximum", "must be at most "+strconv.FormatInt(most, 10))
	}
	return nil
}

// parsePlain takes what every encoder writes: an optional minus and up to 18
// digits.
func parsePlain(raw []byte) (n int64, ok bool) {
	digits := raw
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) > digitsKept {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) < len(raw) {
		n = -n
	}
	return n, true
}

// decimal is 0.DIGITS times ten to the power of point, its digits without
// leading and trailing zeros.
type decimal struct {
	negative bool
	digits   []byte
	point    int
}

// parseAny takes any literal. A number too large for an int64 is returned as the
// largest of its sign, which is beyond every bound of a schema.
func parseAny(raw []byte) (int64, *Fault) {
	if len(raw) > longestNumber {
		return 0, New(RuleNumberForm, "must be spelt in at most 64 bytes")
	}
	var digits [longestNumber]byte
	d, ok := readDecimal(raw, digits[:0])
	if !ok {
		return 0, New(RuleNumberForm, "must have an exponent within 100")
	}
	if len(d.digits) == 0 {
		return 0, nil
	}
	if d.point < len(d.digits) {
		return 0, New("type", "must be an integer")
	}
	const beyond = 1<<63 - 1
	n := int64(beyond)
	if d.point <= digitsKept {
		n = 0
		for i := range d.point {
			n *= 10
			if i < len(d.digits) {
				n += int64(d.digits[i] - '0')
			}
		}
	}
	if d.negative {
		n = -n
	}
	return n, nil
}

func readDecimal(raw, digits []byte) (d decimal, ok bool) {
	i := 0
	if raw[i] == '-' {
		d.negative = true
		i++
	}
	fraction := false
	for ; i < len(raw) && raw[i] != 'e' && raw[i] != 'E'; i++ {
		if raw[i] == '.' {
			fraction = true
			continue
		}
		if len(digits) > 0 || raw[i] != '0' {
			digits = append(digits, raw[i])
			if !fraction {
				d.point++
			}
		} else if fraction {
			d.point--
		}
	}
	if i < len(raw) {
		exponent, err := strconv.Atoi(string(raw[i+1:]))
		if err != nil || exponent > largestExponent || exponent < -largestExponent {
			return d, false
		}
		d.point += exponent
	}
	for len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	d.digits = digits
	return d, true
}
