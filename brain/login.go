package main

import (
	"io"
	"net/http"
)

// loginPage is where the links lead. The code is in their fragment, which stays
// with whoever opened the link.
const loginPage = "/login"

// showLogin tells a person who opened a link in a browser what it is for.
func showLogin(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	// The reader is gone if this fails.
	_, _ = io.WriteString(w, "This is a one-time link for a Foot. On the machine whose files are to be reached, run\n\n"+
		"  foot login 'the whole address of this page'\n\nin quotes, and then: foot run\n")
}
