package login

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vancetope/transfer/internal/safetext"
	"github.com/vancetope/transfer/internal/wire"
)

// patience is how long the whole exchange may take.
const patience = 30 * time.Second

// maxAnswer is more than any answer is long.
const maxAnswer = 64 << 10

// RefusedError is the Brain's no to the code.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string {
	return "refused: " + e.Reason + ": a link works once and for a short time, so ask for a new one"
}

// BusyError is a Brain that takes no more attempts for now. The code was not looked
// at: the link is as good as before.
type BusyError struct {
	Wait time.Duration // before the next attempt; 0 where the Brain does not say
}

func (e *BusyError) Error() string {
	when := "in a moment"
	if e.Wait > 0 {
		when = "in " + e.Wait.String()
	}
	return "too many attempts to log in at once: the link is still good, try it again " + when
}

// ErrUnreachable is wrapped with why there was no answer of a Brain.
var ErrUnreachable = errors.New("the Brain cannot be reached")

// Redeem gives the code to the Brain and returns what the Foot may connect with.
// Its error is a *RefusedError, a *BusyError, ErrUnreachable, or that the answer made no sense.
// The code is used up by the first answer.
func Redeem(ctx context.Context, l Link, secure *tls.Config) (Login, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	response, err := post(ctx, l, secure)
	if err != nil {
		return Login{}, unreachable(err)
	}
	defer response.Body.Close() // all that counts was read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return Login{}, unreachable(err)
	}
	if response.StatusCode != http.StatusOK {
		return Login{}, refusal(response, body)
	}
	return understand(l, body)
}

// post sends the code, and never a second time: a redirection is an answer.
func post(ctx context.Context, l Link, secure *tls.Config) (*http.Response, error) {
	body, err := json.Marshal(struct {
		Code string `json:"code"`
	}{l.code})
	if err != nil {
		return nil, err
	}
	u := l.brain.JoinPath("api", "v1", "login")
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.GetBody = nil // and so the client does not try again by itself
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	transport := &http.Transport{Proxy: wire.EnvironmentProxy, TLSClientConfig: secure, DisableKeepAlives: true}
	client := http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return client.Do(request)
}

// unreached is a Brain that did not answer, with why.
type unreached struct{ cause error }

func (e *unreached) Error() string {
	return ErrUnreachable.Error() + ": " + safetext.Escape(e.cause.Error())
}

func (e *unreached) Unwrap() []error { return []error{ErrUnreachable, e.cause} }

// unreachable keeps the reason of a failed request, which names the Brain and
// neither the code nor a proxy's password.
func unreachable(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", patience)
	}
	if strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		err = fmt.Errorf("%w (the server there speaks no TLS: the link has to begin with http://)", err)
	}
	return &unreached{err}
}

// refusal sorts the answers that are no success.
func refusal(response *http.Response, body []byte) error {
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &said) != nil {
		said.Error = "" // what answered is no Brain
	}
	reason := safetext.Escape(said.Error)
	switch code := response.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		if reason == "" {
			reason = "the code is unknown, used or expired"
		}
		return &RefusedError{reason}
	case code == http.StatusTooManyRequests:
		return &BusyError{retryAfter(response)}
	case code >= 300 && code < 400:
		return fmt.Errorf("%w: it sends elsewhere (HTTP %d), where no code is sent: ask for a link with the right address", ErrUnreachable, code)
	case reason != "":
		return fmt.Errorf("%w: HTTP %d: %s", ErrUnreachable, code, reason)
	}
	return fmt.Errorf("%w: no Brain answers there (HTTP %d)", ErrUnreachable, response.StatusCode)
}

// retryAfter is the wait that an answer asks for, 0 for none; a date, which RFC 9110
// allows too, is none of a Brain's.
func retryAfter(response *http.Response) time.Duration {
	seconds, err := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// understand reads the answer to a good code.
func understand(l Link, body []byte) (Login, error) {
	var granted struct {
		Token   string `json:"token"`
		Tenant  string `json:"tenant"`
		Project string `json:"project"`
		Name    string `json:"name"`
	}
	if json.Unmarshal(body, &granted) != nil {
		return Login{}, fmt.Errorf("%w: what answers there is no Brain", ErrUnreachable)
	}
	login := Login{Brain: l.Brain(), Tenant: granted.Tenant, ProjectID: granted.Project, FootID: granted.Name, Token: granted.Token}
	if err := login.check(); err != nil {
		return Login{}, fmt.Errorf("%w: what answers there is no Brain: %w", ErrUnreachable, err)
	}
	return login, nil
}
