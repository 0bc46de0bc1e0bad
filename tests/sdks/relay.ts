import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Reply } from './model-server.ts'
import { ANSWERS, type Sent } from './protocols.ts'
import type { World } from './world.ts'

/** What a relay does with requests. Both functions receive the body of a request as JSON. */
export interface RelayPlan {
  /** Answers a request in place of the model server. @default the model server answers */
  readonly answer?: (request: string) => RelayAnswer | undefined
  /** Number of input tokens that the answer reports. @default 10 */
  readonly countTokens?: (request: string) => number
}

export type RelayAnswer = Exclude<Reply, { readonly kind: 'status' | 'hold' }>

/** A server between a program and the model server. */
export class Relay implements AsyncDisposable {
  readonly #server = createServer((request, response) => void this.#answer(request, response))
  readonly #target: string
  readonly #plan: RelayPlan
  /** The ids of the relay's tool calls differ from those of the model server. */
  #serial = 900

  private constructor(target: string, plan: RelayPlan) {
    this.#target = target
    this.#plan = plan
  }

  static async start(world: World, plan: RelayPlan): Promise<Relay> {
    const relay = new Relay(world.server.url, plan)
    await new Promise<void>(resolve => relay.#server.listen(0, '127.0.0.1', resolve))
    return relay
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const own = this.#plan.answer?.(body)
    if (own !== undefined) {
      const path = request.url ?? ''
      const answer = Object.values(ANSWERS).find(each => path.includes(each.path)) ?? ANSWERS.anthropic
      answer.send(response, own, JSON.parse(body) as Sent, this.#serial++)
      return
    }
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(this.#target + (request.url ?? ''), { method: 'POST', headers, body })
    const text = await answer.text()
    const tokens = this.#plan.countTokens?.(body) ?? 10
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
    response.end(text.replaceAll('"input_tokens":10', `"input_tokens":${tokens}`))
  }
}
