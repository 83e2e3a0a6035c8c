package wirejson

import (
	"regexp"
	"strconv"
	"time"
	"unicode/utf8"
)

// Text checks the length of a string in runes, and that it can be sent at all.
func Text(s string, least, most int) *Fault {
	if len(s) > most && utf8.RuneCountInString(s) > most {
		return TooLong(most)
	}
	if least > 0 && utf8.RuneCountInString(s) < least {
		return New("minLength", "must have at least "+strconv.Itoa(least)+" characters")
	}
	if !utf8.ValidString(s) {
		return New(RuleSyntax, "must be valid UTF-8")
	}
	return nil
}

// TooLong is the fault of a string with too many characters.
func TooLong(most int) *Fault {
	return New("maxLength", "must have at most "+strconv.Itoa(most)+" characters")
}

// Size checks the number of decoded bytes of a payload.
func Size(n, most int) *Fault {
	if n > most {
		return New("anyOf", "must hold at most "+strconv.Itoa(most)+" bytes")
	}
	return nil
}

// Count checks the number of items of an array.
func Count(n, least, most int) *Fault {
	if n > most {
		return New("maxItems", "must have at most "+strconv.Itoa(most)+" items")
	}
	if n < least {
		return New("minItems", "must have at least "+strconv.Itoa(least)+" items")
	}
	return nil
}

// Match checks a pattern.
func Match(s string, pattern *regexp.Regexp) *Fault {
	if !pattern.MatchString(s) {
		return New("pattern", "must match "+pattern.String())
	}
	return nil
}

// Moment checks that RFC 3339 can write t: the year has four digits.
func Moment(t time.Time) *Fault {
	if year := t.UTC().Year(); year < 0 || year > 9999 {
		return New("format", "must be in the years 0 to 9999")
	}
	return nil
}
