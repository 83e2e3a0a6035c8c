package toolset

import (
	"strings"

	"github.com/vancetope/transfer/gen/common"
	"github.com/vancetope/transfer/internal/fault"
)

// advice says what a model can do about a failure. A code without a row speaks
// for itself.
var advice = map[common.ErrorCode]string{
	common.ErrorCodeInvalidRequest:     "Correct the arguments and call again.",
	common.ErrorCodeDirNotFound:        "Create a RootDir with workspace_create_ephemeral_dir and use its dirName.",
	common.ErrorCodeNotFound:           "Check the path, it is relative to the folder it is used in, or ask the person where the file is.",
	common.ErrorCodePathEscapesSandbox: "Use a relative path that stays inside the folder.",
	common.ErrorCodeSymlinkNotAllowed:  "Links are never followed: use the path of the real file inside the folder.",
	common.ErrorCodeInvalidPath:        "Use another path.",
	common.ErrorCodePathProtected:      "Choose a place outside .git.",
	common.ErrorCodeNotRegularFile:     "Only single regular files can be copied, no folders.",
	common.ErrorCodeAlreadyExists:      "Choose another name, or for a file another onExisting.",
	common.ErrorCodeTargetBusy:         "Another transfer writes there: wait for it, or choose another path.",
	common.ErrorCodeSizeLimit:          "The file is too large to be copied; a person can raise the limit in the settings.",
	common.ErrorCodeNoFoot:             "Ask the person to start `foot run` on the machine, then call again.",
	common.ErrorCodeFootAmbiguous:      "Call again with the argument foot.",
	common.ErrorCodeConnectionLost:     "Nothing was written. Call again once client_list shows the machine.",
	common.ErrorCodeInitTimeout:        "The machine did not answer in time. Nothing was written; call again.",
	common.ErrorCodeChunkTimeout:       "The machine stopped sending. Nothing was written; call again.",
	common.ErrorCodeCompleteTimeout:    "It is not known whether the file was written. Call again.",
	common.ErrorCodeHashMismatch:       "The copy was damaged and has been thrown away. Call again.",
	common.ErrorCodeSourceChanged:      "The file was written to while it was copied. Call again when it is at rest.",
	common.ErrorCodeInsufficientSpace:  "Free space is needed where the file goes.",
	common.ErrorCodeDiskFull:           "Free space is needed where the file goes.",
	common.ErrorCodeAccessDenied:       "Nothing was written. The person, or whoever made the token, can allow it.",
	common.ErrorCodeLimit:              "Wait until some of the running transfers have ended; transfer_status tells.",
	common.ErrorCodePermissionDenied:   "The file system forbids it; ask the person.",
	common.ErrorCodeDeclined:           "The person did not agree; ask before you call again.",
	common.ErrorCodeDraining:           "The server restarts: call again in a minute.",
	common.ErrorCodeQuota:              "Close RootDirs that are not needed any more, or write less.",
	common.ErrorCodeProjectSuspended:   "An operator has stopped this project: ask the person.",
	common.ErrorCodeUnsupported:        "It cannot be done in this way: the error says what can.",
	common.ErrorCodeInternal:           "This is a fault of the server; its log knows more.",
}

// sentence is the one line in which a failure is told.
func sentence(f *fault.Error) string { return sentenceWith(f, advice[f.Code]) }

func sentenceWith(f *fault.Error, advice string) string {
	line := "Failed: " + f.Text + " (" + string(f.Code) + ")."
	if advice != "" {
		line += " " + advice
	}
	return oneLine(line)
}

// otherTransfers is the advice where a transfer is not found, which is no file.
const otherTransfers = "transfer_status without transferId lists those that are known; whether a file arrived, workspace_list_files tells."

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
