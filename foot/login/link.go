// Package login turns a one-time link into what a Foot needs to connect, and
// keeps that in the Foot's state folder. It owns the link's form, the one request
// that redeems its code, and the file.
//
// It refuses to send a code in clear text to another machine or to where a
// redirection leads, and never puts a code or a token into an error.
package login

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/vancetope/transfer/internal/wire"
)

// Link is a one-time link. Its code is for Redeem alone.
type Link struct {
	brain *url.URL
	code  string
}

// Brain is the Brain that made the link.
func (l Link) Brain() string { return l.brain.String() }

// String leaves the code out.
func (l Link) String() string { return l.Brain() }

// GoString too.
func (l Link) GoString() string { return l.Brain() }

// page is where the links of a Brain lie.
const page = "/login"

// maxCode is more than any code is long.
const maxCode = 512

// ParseLink reads https://brain.example/login#CODE. Where the Brain lies behind a
// proxy under a path, that comes before /login. Errors do not quote the link, as
// it is a secret.
func ParseLink(text string, allowInsecure bool) (Link, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return Link{}, errors.New("the link is malformed: it must be the whole output of brain token create --link, in quotes")
	}
	code := u.Fragment
	u.Fragment, u.RawFragment = "", ""
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Opaque != "":
		return Link{}, errors.New("the link must begin with https:// and the Brain's name")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery:
		return Link{}, errors.New("the link must not have a user or a query")
	case code == "":
		return Link{}, errors.New("the link has no code: it is what comes after the #")
	case len(code) > maxCode || strings.ContainsFunc(code, notInCode):
		return Link{}, errors.New("the code of the link, after the #, is malformed")
	case !allowInsecure && wire.PlainOffLoopback(u):
		return Link{}, fmt.Errorf("clear text to %s is refused, since anybody on the way could read the token: use an https:// link, "+
			"or --allow-insecure when the network between is trusted", u.Hostname())
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), page)
	u.RawPath = ""
	return Link{brain: u, code: code}, nil
}

func notInCode(r rune) bool { return r <= ' ' || r > '~' }
