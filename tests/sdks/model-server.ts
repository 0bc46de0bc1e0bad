import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ANSWERS, type Protocol, type Sent } from './protocols.ts'

/** What the model answers to one request. */
export type Reply =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'call'; readonly name: string; readonly input: unknown }
  | { readonly kind: 'status'; readonly status: number }
  /** The server accepts the request and never answers. */
  | { readonly kind: 'hold' }

/** A request that the server received, reduced to the parts that a provider caches. */
export interface ModelRequest {
  readonly protocol: Protocol
  readonly body: Sent
  /** Tools, system text and blocks of messages in the order in which a provider caches them, each as JSON. */
  readonly parts: readonly string[]
  /** All parts as one text. */
  readonly text: string
}

/**
 * A loopback model server that speaks the chat and the responses protocol of OpenAI and the messages protocol of
 * Anthropic. It records each request and answers with the replies of a script. Requests without tools are answered with
 * a summary, because SDKs send such requests to compact a conversation.
 */
export class ModelServer implements AsyncDisposable {
  /** The requests of the agent. Requests without tools are in `asides`. */
  readonly requests: ModelRequest[] = []
  readonly asides: ModelRequest[] = []
  /** Runs after a request was recorded and before it is answered. */
  beforeAnswer: () => Promise<void> = () => Promise.resolve()
  readonly #script: Reply[] = []
  readonly #waiting: (() => void)[] = []
  readonly #server = createServer((request, response) => void this.#answer(request, response))

  static async start(): Promise<ModelServer> {
    const server = new ModelServer()
    await new Promise<void>(resolve => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  /** The address of the server, without `/v1`. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Resolves when the next request arrives. */
  async received(): Promise<void> {
    await new Promise<void>(resolve => {
      this.#waiting.push(resolve)
    })
  }

  /** Replaces the replies that are still to be sent. */
  play(...replies: readonly Reply[]): void {
    this.#script.splice(0, this.#script.length, ...replies)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const path = (request.url ?? '').split('?')[0] ?? ''
    const protocol = (Object.keys(ANSWERS) as Protocol[]).find(name => path.endsWith(ANSWERS[name].path))
    if (request.method !== 'POST' || protocol === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"not found"}}')
      return
    }
    const body = JSON.parse(text) as Sent
    const parts = readParts(protocol, body)
    const recorded = { protocol, body, parts, text: parts.join('\n') }
    const isAside = (body['tools'] ?? []).length === 0
    ;(isAside ? this.asides : this.requests).push(recorded)
    for (const resolve of this.#waiting.splice(0)) resolve()
    await this.beforeAnswer()
    const scripted = isAside ? undefined : this.#script.shift()
    const reply: Reply = scripted ?? { kind: 'text', text: isAside ? 'A summary.' : 'Done.' }
    if (reply.kind === 'hold') return
    if (reply.kind === 'status') {
      const error = { type: 'invalid_request_error', message: `status ${reply.status}` }
      response.writeHead(reply.status, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ type: 'error', error }))
      return
    }
    ANSWERS[protocol].send(response, reply, body, this.requests.length + this.asides.length)
  }
}

/** Returns the number of requests that do not begin with the whole previous request. */
export function countBrokenPrefixes(requests: readonly ModelRequest[]): number {
  return requests.filter((request, index) => {
    const before = requests[index - 1]
    return before !== undefined && !before.parts.every((part, place) => part === request.parts[place])
  }).length
}

/** Returns the text that a request adds to the previous request. If the prefix differs, returns all text after the difference. */
export function addedText(before: ModelRequest | undefined, request: ModelRequest): string {
  const first = request.parts.findIndex((part, place) => part !== before?.parts[place])
  return first === -1 ? '' : request.parts.slice(first).join('\n')
}

function readParts(protocol: Protocol, body: Sent): string[] {
  const { system, messages } = ANSWERS[protocol].read(body)
  const blocks = messages.flatMap(message => {
    const { content, ...rest } = message as { readonly content?: unknown }
    if (!Array.isArray(content)) return [toText({ ...rest, block: toBlock(content) })]
    return content.map(block => toText({ ...rest, block }))
  })
  return [toText(body['tools'] ?? []), toText(system), ...blocks]
}

function toBlock(content: unknown): unknown {
  return typeof content === 'string' ? { type: 'text', text: content } : content
}

/** Providers ignore cache breakpoints when they compare a prefix. */
function toText(value: unknown): string {
  return JSON.stringify(value, (key, each: unknown) => (key === 'cache_control' ? undefined : each))
}
