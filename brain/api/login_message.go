package api

import (
	"encoding/json"
	"errors"
)

type loginRequest struct {
	Code string `json:"code"`
}

type loginAnswer struct {
	Token   string `json:"token"`
	Tenant  string `json:"tenant"`
	Project string `json:"project"`
	Name    string `json:"name"`
}

func decodeLogin(body []byte) (*loginRequest, error) {
	in := &loginRequest{}
	if err := json.Unmarshal(body, in); err != nil || in.Code == "" {
		return nil, errors.New(`the body must be {"code": …}`)
	}
	return in, nil
}
