package main

import "github.com/vancetope/transfer/internal/cli"

// examples are what the help texts show. A test parses each of them.
var examples = cli.Examples{
	"": {
		"brain serve",
		"brain token create --tenant acme --project research --role foot --name laptop --link",
		"brain call client_list '{}' --token-file agent.token",
	},
	"serve": {
		"brain serve",
		"brain serve --listen 0.0.0.0:9990 --tls-cert brain.pem --tls-key brain.key --public-url https://brain.example:9990",
		"brain serve --data /var/lib/vancetope --metrics-listen 127.0.0.1:9991 --log-format json",
	},
	"token create": {
		"brain token create --tenant acme --project research --role agent --name helper --ttl 90d > agent.token",
		"brain token create --tenant acme --project research --role foot --name laptop --link --link-ttl 1h",
	},
	"token list": {
		"brain token list",
		"brain token list --json",
	},
	"token revoke":    {"brain token revoke abcdefghijklmnop"},
	"project list":    {"brain project list", "brain project list --tenant acme"},
	"project suspend": {"brain project suspend --tenant acme --project research"},
	"project recover": {"brain project recover --tenant acme --project research"},
	"project close":   {"brain project close --tenant acme --project research"},
	"call": {
		"brain call client_list '{}' --token-file agent.token",
		`brain call workspace_create_ephemeral_dir '{"dirName":"inbox"}' --token-file agent.token --timeout 30s`,
		"brain call client_file_upload - --token-file agent.token < arguments.json",
	},
	"mcp":       {"brain mcp --url https://brain.example --token-file agent.token"},
	"feet":      {"brain feet --token-file agent.token", "brain feet --json --url https://brain.example --token-file agent.token"},
	"transfers": {"brain transfers --token-file agent.token"},
	"backup":    {"brain backup /backup/brain-monday.tar", "brain backup --data /var/lib/vancetope brain.tar"},
	"config":    {"brain config", "brain config --json --config /etc/vancetope/brain.yaml"},
	"completion": {
		"source <(brain completion bash)",
		"brain completion zsh > ~/.zfunc/_brain",
		"brain completion fish > ~/.config/fish/completions/brain.fish",
	},
}
