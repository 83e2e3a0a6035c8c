package e2etest

// invalidOutput says what is wrong with a tool's structured output.
func invalidOutput(tool string, raw []byte) string { return "" }
