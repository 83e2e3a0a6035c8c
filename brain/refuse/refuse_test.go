package refuse

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vancetope/transfer/gen/api"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

func serve(t *testing.T, h http.Handler) (*http.Response, string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, httptest.NewRequest("GET", "/", nil))
	answer := recorder.Result()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

func check(t *testing.T, answer *http.Response, text string, status int, want api.ErrorBody) {
	t.Helper()
	var got api.ErrorBody
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if answer.StatusCode != status || got != want || answer.Header.Get("Content-Type") != "application/json" {
		t.Errorf("got %d %+v %v, want %d %+v", answer.StatusCode, got, answer.Header, status, want)
	}
	if challenged := answer.Header.Get("WWW-Authenticate") == "Bearer"; challenged != (status == http.StatusUnauthorized) {
		t.Errorf("challenged: %v", challenged)
	}
}

func TestTheStatusIsThatOfTheCode(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		want   api.ErrorBody
	}{
		{fault.New(common.ErrorCodeUnauthorized), 401, api.ErrorBody{Error: "missing, unknown, revoked or expired token", ErrorCode: common.ErrorCodeUnauthorized}},
		{fault.Newf(common.ErrorCodeAccessDenied, "why"), 403, api.ErrorBody{Error: "access denied: why", ErrorCode: common.ErrorCodeAccessDenied}},
		{fault.New(common.ErrorCodeDraining), 503, api.ErrorBody{Error: "draining", ErrorCode: common.ErrorCodeDraining}},
		{errors.New("secret"), 500, api.ErrorBody{Error: "internal error", ErrorCode: common.ErrorCodeInternal}},
	} {
		answer, text := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { With(w, c.err) }))
		check(t, answer, text, c.status, c.want)
	}
}

func TestPlainErrorsGetTheCommonBody(t *testing.T) {
	for status, code := range map[int]common.ErrorCode{
		400: common.ErrorCodeInvalidRequest, 401: common.ErrorCodeUnauthorized, 403: common.ErrorCodeAccessDenied,
		404: common.ErrorCodeNotFound, 405: common.ErrorCodeInvalidRequest, 413: common.ErrorCodeSizeLimit,
		415: common.ErrorCodeUnsupported, 500: common.ErrorCodeInternal,
	} {
		answer, text := serve(t, Plain(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Allow", "POST")
			http.Error(w, "what is wrong", status)
		})))
		check(t, answer, text, status, api.ErrorBody{Error: "what is wrong", ErrorCode: code})
		if answer.Header.Get("Allow") != "POST" {
			t.Error("a header was lost")
		}
	}
}

func TestOtherAnswersPassAsTheyAre(t *testing.T) {
	for _, c := range []struct {
		kind   string
		status int
	}{{"text/event-stream", 200}, {"text/plain", 200}, {"application/json", 400}} {
		answer, text := serve(t, Plain(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, "as it is") // a recorder takes everything
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Errorf("cannot be flushed: %v", err)
			}
		})))
		if answer.StatusCode != c.status || text != "as it is" || answer.Header.Get("Content-Type") != c.kind {
			t.Errorf("got %d %q", answer.StatusCode, text)
		}
	}
}

func TestALongPlainErrorIsCut(t *testing.T) {
	_, text := serve(t, Plain(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, strings.Repeat("x", 3*longestPlain), 400)
	})))
	if len(text) > longestPlain+100 {
		t.Errorf("%d bytes", len(text))
	}
}
