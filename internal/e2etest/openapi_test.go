package e2etest

import (
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

// document is gen/openapi.yaml with the routes it describes.
var document = sync.OnceValues(func() (routers.Router, error) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "gen", "openapi.yaml"))
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		return nil, err
	}
	doc.Servers = nil // the test's Brain listens elsewhere
	return legacy.NewRouter(doc)
})

// invalidAnswer says how an answer differs from what the document promises.
// Only the answer is judged: the library cannot read path parameters whose
// schema has a "not".
func invalidAnswer(request *http.Request, answer *http.Response, body []byte) string {
	router, err := document()
	if err != nil {
		return err.Error()
	}
	local := request.Clone(request.Context())
	local.URL.Scheme, local.URL.Host, local.Host = "", "", ""
	route, parameters, err := router.FindRoute(local)
	if err != nil {
		return err.Error()
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: local, PathParams: parameters, Route: route,
			Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
		},
		Status: answer.StatusCode,
		Header: answer.Header,
	}
	input.SetBodyBytes(body)
	if err := openapi3filter.ValidateResponse(request.Context(), input); err != nil {
		return err.Error()
	}
	return ""
}
