// Package wirejson is what generated decoders and encoders share: a strict
// reader of one JSON message, the checks of single values, and the appenders.
//
// It owns the rules that no schema states: the message is I-JSON (no duplicate
// member, valid UTF-8), nothing follows it, a number's literal is short. It
// refuses to guess: no case folding, no coercion, no second spelling of a UUID,
// a time or base64. It knows nothing of any particular message.
//
// framegen copies this package into gen/, so that generated code depends on
// nothing that is written by hand; its tests stay here.
package wirejson
