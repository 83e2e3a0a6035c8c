package settings

import (
	"io/fs"
	"time"

	"github.com/vancetope/transfer/gen/common"
)

// Setting declares one setting.
type Setting struct {
	Name    string
	Default string // in the notation a user would write
	Program Program
	Flag    string // the flag that sets it, with its dashes, or empty
	Doc     string
	kind    kind
}

// Range says in words what is allowed.
func (d *Setting) Range() string { return d.kind.allowed() }

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	pib = int64(1) << 50
)

// frameSlack is what a chunk's frame needs beside the base64 of its data: the
// type, the ids and the punctuation.
const frameSlack = kib

// workspaceRoot is named here as its default follows from another setting.
const workspaceRoot = "vance.workspace.root"

// table is the only place where a setting is declared.
var table = []Setting{
	{Name: "vance.transfer.chunk-size", Default: "64KiB", Program: both,
		Doc:  "File data carried by one transfer_chunk, before base64.",
		kind: size{1, mib, func(s *Settings) *int64 { return &s.Transfer.ChunkSize }}},
	{Name: "vance.transfer.phase-timeout", Default: "30s", Program: both,
		Doc:  "How long each phase of a transfer waits for the peer.",
		kind: duration{100 * time.Millisecond, time.Hour, func(s *Settings) *time.Duration { return &s.Transfer.PhaseTimeout }}},
	{Name: "vance.transfer.cleanup-interval", Default: "5m", Program: both,
		Doc:  "How often entries of ended transfers are swept.",
		kind: duration{time.Second, time.Hour, func(s *Settings) *time.Duration { return &s.Transfer.CleanupInterval }}},
	{Name: "vance.transfer.max-upload-size", Default: "100MiB", Program: both,
		Doc:  "Largest file that may travel from Foot to Brain.",
		kind: size{0, 8 * pib, func(s *Settings) *int64 { return &s.Transfer.MaxUploadSize }}},
	{Name: "vance.transfer.max-download-size", Default: "100MiB", Program: both,
		Doc:  "Largest file that may travel from Brain to Foot.",
		kind: size{0, 8 * pib, func(s *Settings) *int64 { return &s.Transfer.MaxDownloadSize }}},
	{Name: "vance.transfer.brain-mode-mask", Default: "0644", Program: ForBrain,
		Doc:  "Permission bits a file written by Brain may have; octal.",
		kind: mask{func(s *Settings) *fs.FileMode { return &s.Transfer.BrainModeMask }}},
	{Name: "vance.transfer.foot-mode-mask", Default: "0755", Program: ForFoot,
		Doc:  "Permission bits a file written by Foot may have; octal.",
		kind: mask{func(s *Settings) *fs.FileMode { return &s.Transfer.FootModeMask }}},
	{Name: "vance.transfer.max-frame-size", Default: "4MiB", Program: both,
		Doc:  "Largest WebSocket message that is read from the peer.",
		kind: size{64 * kib, 64 * mib, func(s *Settings) *int64 { return &s.Transfer.MaxFrameSize }}},
	{Name: "vance.transfer.ping-interval", Default: "20s", Program: both,
		Doc:  "How often a connection is pinged; two unanswered pings end it. A Foot pings as often as its Brain unless this is shorter.",
		kind: duration{time.Second, 5 * time.Minute, func(s *Settings) *time.Duration { return &s.Transfer.PingInterval }}},
	{Name: "vance.transfer.max-concurrent", Default: "16", Program: ForBrain,
		Doc:  "How many transfers of one Foot run at once; more wait.",
		kind: number{1, 1024, func(s *Settings) *int { return &s.Transfer.MaxConcurrent }}},

	{Name: "vance.foot.workspace.root", Default: "~/.vancetope/foot", Program: ForFoot, Flag: "--root",
		Doc:  "Folder below which Foot keeps <tenant>/<project>/.",
		kind: path{field: func(s *Settings) *string { return &s.Foot.WorkspaceRoot }}},
	{Name: "vance.foot.workspace.allow-git-writes", Default: "off", Program: ForFoot,
		Doc:  "Lets Brain write at and below .git in the folders of this machine.",
		kind: toggle{func(s *Settings) *bool { return &s.Foot.AllowGitWrites }}},
	{Name: "vance.foot.state", Default: "", Program: ForFoot, Flag: "--state",
		Doc:  "Folder for what Foot has to remember; by default ~/.vancetope/state/foot/<tenant>/<project>.",
		kind: path{field: func(s *Settings) *string { return &s.Foot.State }, optional: true}},
	{Name: "vance.foot.access", Default: "edit", Program: ForFoot, Flag: "--access",
		Doc:  "What Brain may do to this machine: read files, or edit them as well.",
		kind: access{func(s *Settings) *common.Access { return &s.Foot.Access }}},
	{Name: "vance.foot.confirm", Default: "never", Program: ForFoot, Flag: "--confirm",
		Doc:  "What the person is asked about: nothing, what Brain wants to write, or everything.",
		kind: confirm{func(s *Settings) *Confirm { return &s.Foot.Confirm }}},
	{Name: "vance.foot.confirm-timeout", Default: "5m", Program: both,
		Doc:  "How long a person at the Foot may take to approve a transfer; each side goes by its own.",
		kind: duration{time.Millisecond, noLimit, func(s *Settings) *time.Duration { return &s.Foot.ConfirmTimeout }}},
	{Name: "vance.foot.reconnect-min", Default: "1s", Program: ForFoot,
		Doc:  "Shortest wait before Foot connects again.",
		kind: duration{time.Millisecond, noLimit, func(s *Settings) *time.Duration { return &s.Foot.ReconnectMin }}},
	{Name: "vance.foot.reconnect-max", Default: "30s", Program: ForFoot,
		Doc:  "Longest wait before Foot connects again.",
		kind: duration{time.Millisecond, noLimit, func(s *Settings) *time.Duration { return &s.Foot.ReconnectMax }}},

	{Name: "vance.brain.listen", Default: "127.0.0.1:9990", Program: ForBrain, Flag: "--listen",
		Doc:  "Where Brain listens; port 0 picks a free one.",
		kind: address{field: func(s *Settings) *string { return &s.Brain.Listen }}},
	{Name: "vance.brain.data", Default: "~/.vancetope/brain", Program: ForBrain, Flag: "--data",
		Doc:  "Folder for Brain's state and workspaces.",
		kind: path{field: func(s *Settings) *string { return &s.Brain.Data }}},
	{Name: "vance.brain.public-url", Default: "", Program: ForBrain, Flag: "--public-url",
		Doc:  "The address under which others reach this Brain, where that is not the one it listens on; links begin with it.",
		kind: publicURL{func(s *Settings) *string { return &s.Brain.PublicURL }}},
	{Name: "vance.brain.metrics-listen", Default: "", Program: ForBrain, Flag: "--metrics-listen",
		Doc:  "Where Brain serves figures for Prometheus, at /metrics and without a token; by default nowhere.",
		kind: address{field: func(s *Settings) *string { return &s.Brain.MetricsListen }, optional: true}},
	{Name: "vance.mcp.session-timeout", Default: "30m", Program: ForBrain,
		Doc:  "How long an MCP session may lie unused before it ends.",
		kind: duration{time.Second, noLimit, func(s *Settings) *time.Duration { return &s.MCP.SessionTimeout }}},
	{Name: workspaceRoot, Default: "~/.vancetope/brain/workspaces", Program: ForBrain,
		Doc:  "Folder below which Brain keeps <tenant>/<project>/<dirName>/; by default workspaces/ in the data directory.",
		kind: path{field: func(s *Settings) *string { return &s.Workspace.Root }}},
	{Name: "vance.workspace.max-bytes", Default: "10GiB", Program: ForBrain,
		Doc:  "How many bytes the files of one project may have in all.",
		kind: size{0, 8 * pib, func(s *Settings) *int64 { return &s.Workspace.MaxBytes }}},
	{Name: "vance.workspace.ephemeral-ttl", Default: "24h", Program: ForBrain,
		Doc:  "How long a RootDir lives without a read, a write or a transfer.",
		kind: duration{time.Second, noLimit, func(s *Settings) *time.Duration { return &s.Workspace.EphemeralTTL }}},
	{Name: "vance.receipts.ttl", Default: "24h", Program: ForBrain,
		Doc:  "How long the receipt of a call with an idempotencyKey is kept.",
		kind: duration{time.Second, noLimit, func(s *Settings) *time.Duration { return &s.Receipts.TTL }}},
}

// Table returns the declarations, for help texts and documentation.
func Table() []Setting { return append([]Setting(nil), table...) }

func declared(name string) *Setting {
	for i := range table {
		if table[i].Name == name {
			return &table[i]
		}
	}
	return nil
}
