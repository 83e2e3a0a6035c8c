package rootfs

// What the tests outside the package share with those inside: the ready-made
// faults import the package, so their tests must stand outside.
var (
	FastDir     = fastDir
	MustPath    = mustPath
	OpenRoot    = openRoot
	Put         = put
	WriteFile   = write
	Listing     = listing
	Unchanged   = unchanged
	WantCode    = wantCode
	WantText    = wantText
	WantContent = wantContent
	ErrNoRename = errUnsupported
)
