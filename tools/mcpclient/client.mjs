// An MCP client of the official TypeScript SDK that does what it is told on its
// standard input, a JSON object a line, and answers on its standard output, one
// line each. The end-to-end tests drive it:
//
//   node client.mjs legacy|modern CONFIG SERVER
//
// CONFIG is a file as MCP clients have it, {"mcpServers": {SERVER: …}}, with
// either command, args and env, or url and headers. legacy is the SDK's first
// major version (@modelcontextprotocol/sdk), which speaks the protocol of
// 2025-11-25 and before; modern is the second (@modelcontextprotocol/client),
// held to 2026-07-28.
//
//   {"id", "op": "list"}                           → {"id", "tools"}
//   {"id", "op": "call", "name", "arguments"}      → {"id", "result", "progress": count}
//   {"id", "op": "call", …, "cancelAtProgress": n} → {"id", "cancelled": true}
//   {"id", "op": "instructions"}                   → {"id", "instructions"}
//
// What fails is answered with {"id", "error"}.
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [generation, configFile, serverName] = process.argv.slice(2)

const legacy = async () => {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
  const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js')
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js')
  return {
    client: new Client({ name: 'e2etest', version: '1' }),
    StdioClientTransport,
    StreamableHTTPClientTransport,
    call: (client, params, options) => client.callTool(params, undefined, options),
  }
}

const modern = async () => {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
  return {
    client: new Client({ name: 'e2etest', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } }),
    StdioClientTransport,
    StreamableHTTPClientTransport,
    call: (client, params, options) => client.callTool(params, options),
  }
}

const sdk = await { legacy, modern }[generation]()
const server = JSON.parse(readFileSync(configFile, 'utf8')).mcpServers[serverName]
const transport = server.command
  ? new sdk.StdioClientTransport({ command: server.command, args: server.args, env: server.env, stderr: 'inherit' })
  : new sdk.StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers: server.headers } })
await sdk.client.connect(transport)

const say = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`)

const call = async ({ id, name, arguments: args, cancelAtProgress }) => {
  const stop = new AbortController()
  let progress = 0
  try {
    const result = await sdk.call(sdk.client, { name, arguments: args }, {
      signal: stop.signal,
      timeout: 120_000,
      onprogress: () => {
        progress += 1
        if (progress === cancelAtProgress) stop.abort('enough')
      },
    })
    say({ id, result, progress })
  } catch (error) {
    if (!stop.signal.aborted) throw error
    say({ id, cancelled: true })
  }
}

const operations = {
  list: async ({ id }) => say({ id, tools: (await sdk.client.listTools()).tools }),
  instructions: async ({ id }) => say({ id, instructions: sdk.client.getInstructions() }),
  call,
}

say({ id: 0, ready: true })
const running = new Set()
for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line)
  const done = operations[order.op](order)
    .catch((error) => say({ id: order.id, error: String(error?.message ?? error) }))
    .finally(() => running.delete(done))
  running.add(done)
}
await Promise.all(running)
if (transport.terminateSession) await transport.terminateSession().catch(() => {})
await sdk.client.close()
