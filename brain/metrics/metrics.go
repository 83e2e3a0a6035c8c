// Package metrics counts what a Brain does, for Prometheus: connections,
// transfers by outcome and code, bytes, seconds by phase, and what waits.
//
// Its labels have few values, all of them ours: directions, outcomes, codes and
// phases. It refuses names of tenants, machines and files, which would be without
// number and are nobody's business who reads a dashboard; they are in the audit
// log.
package metrics

import (
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/vancetope/transfer/brain/hub"
	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
	"github.com/vancetope/transfer/internal/version"
)

// namespace begins the name of each metric.
const namespace = "vancetope"

// phaseBuckets are the upper bounds of the seconds that phases take: from a small
// file on a fast disk to a person who has to be asked.
var phaseBuckets = []float64{.005, .02, .1, .5, 2, 10, 60, 300, 1800}

// Metrics are the figures of one Brain.
type Metrics struct {
	registry    *prometheus.Registry
	connections *prometheus.CounterVec
	transfers   *prometheus.CounterVec
	bytes       *prometheus.CounterVec
	phases      *prometheus.HistogramVec
	calls       *prometheus.CounterVec
}

// New returns metrics at zero. Those that others know, what is connected and what
// waits, are asked of load when somebody reads.
func New(load func() hub.Load) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		connections: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "foot_connections_total",
			Help: "Attempts of Feet to connect, by the code they were refused with, or ok."}, []string{"code"}),
		transfers: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "transfers_total",
			Help: "Transfers that ended, by direction, outcome and error code, which is ok for complete ones."}, []string{"direction", "outcome", "code"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "transfer_bytes_total",
			Help: "Bytes of the files whose transfer was complete."}, []string{"direction"}),
		phases: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "transfer_phase_seconds",
			Help: "How long transfers were in each phase.", Buckets: phaseBuckets}, []string{"direction", "phase"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "tool_calls_total",
			Help: "Tool calls that ended, by tool and error code, which is ok for those that succeeded."}, []string{"tool", "code"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "build_info",
		Help:        "Always 1; the labels tell which build this is.",
		ConstLabels: prometheus.Labels{"version": version.String(), "commit": version.Commit()}})
	build.Set(1)
	m.registry.MustRegister(m.connections, m.transfers, m.bytes, m.phases, m.calls, build,
		gauge("feet_connected", "Feet that are connected.", func() int { return load().Feet }),
		gauge("transfers_running", "Transfers that have their turn.", func() int { return load().Running }),
		gauge("transfers_queued", "Transfers that wait for their turn.", func() int { return load().Queued }),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func gauge(name, help string, value func() int) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help},
		func() float64 { return float64(value()) })
}

// Handler serves the figures.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// Connection counts a Foot that asked to be let in, and how that ended.
func (m *Metrics) Connection(err error) { m.connections.WithLabelValues(codeOf(err)).Inc() }

// Transfer counts a transfer that ended.
func (m *Metrics) Transfer(e hub.Ended) {
	direction, outcome := string(e.Direction), "complete"
	switch code := fault.CodeOf(e.Err); {
	case code == common.ErrorCodeCancelled:
		outcome = "cancelled"
	case code != "":
		outcome = "failed"
	default:
		m.bytes.WithLabelValues(direction).Add(float64(e.Bytes))
	}
	m.transfers.WithLabelValues(direction, outcome, codeOf(e.Err)).Inc()
	for phase, took := range e.Phases {
		m.phases.WithLabelValues(direction, string(phase)).Observe(took.Seconds())
	}
}

// Call counts a tool call that ended; code is empty when it succeeded. The tool
// is one that exists.
func (m *Metrics) Call(tool string, code common.ErrorCode) {
	if code == "" {
		code = "ok"
	}
	m.calls.WithLabelValues(tool, known(code)).Inc()
}

func codeOf(err error) string {
	code := fault.CodeOf(err)
	if code == "" {
		return "ok"
	}
	return known(code)
}

// known keeps a peer from making new labels: what is no code of the schema is
// counted as one.
func known(code common.ErrorCode) string {
	if code != "ok" && !fault.Known(code) {
		return "other"
	}
	return string(code)
}

// Server returns the HTTP server of a metrics listener.
func (m *Metrics) Server() *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.Handler())
	return &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
}

// Ended reports whether an error of a server's Serve is its ordinary end.
func Ended(err error) bool { return errors.Is(err, http.ErrServerClosed) }
