import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { UIMessage } from 'ai'
import { rolldown } from 'rolldown'
import { skillText, TemporaryFolder } from '../fixtures/skill-folder.ts'
import { ModelServer } from './model-server.ts'

/** Installed by the tests of the runtimes. The compiler does not know its types. */
export const MINIFLARE: string = resolve('tests/runtimes/node_modules/miniflare/dist/src/index.js')

interface Bucket {
  put(key: string, text: string): Promise<unknown>
}

/** The part of miniflare that the tests use. */
interface Simulator {
  readonly ready: Promise<URL>
  getR2Bucket(name: string): Promise<Bucket>
  dispose(): Promise<void>
}

/** The example in workerd, with a bucket and Durable Objects that outlive a restart. */
export class Workers implements AsyncDisposable {
  readonly server: ModelServer
  readonly #folder: TemporaryFolder
  #simulator: Simulator

  private constructor(server: ModelServer, folder: TemporaryFolder, simulator: Simulator) {
    this.server = server
    this.#folder = folder
    this.#simulator = simulator
  }

  static async open(): Promise<Workers> {
    const [server, folder] = [await ModelServer.start(), new TemporaryFolder()]
    await bundle(folder.at('worker.js'))
    const workers = new Workers(server, folder, await start(server, folder))
    await workers.write('refund', 'Refunds need form ONE.')
    await workers.write('orders', 'Do the orders thing.')
    return workers
  }

  async write(name: string, body: string): Promise<void> {
    const bucket = await this.#simulator.getR2Bucket('BUCKET')
    await bucket.put(`skills/${name}/SKILL.md`, skillText(name, { body }))
  }

  async restart(): Promise<void> {
    await this.#simulator.dispose()
    this.#simulator = await start(this.server, this.#folder)
  }

  /** Opens the conversation, as a page with `useAgentChat` does. */
  async connect(): Promise<Page> {
    return await Page.open(new URL('/agents/chat-agent/chat-1', await this.#simulator.ready))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#simulator.dispose()
    await this.server[Symbol.asyncDispose]()
    this.#folder[Symbol.dispose]()
  }
}

async function start(server: ModelServer, folder: TemporaryFolder): Promise<Simulator> {
  const { Miniflare } = (await import(pathToFileURL(MINIFLARE).href)) as {
    Miniflare: new (options: object) => Simulator
  }
  return new Miniflare({
    ...{ modules: true, modulesRoot: folder.path, scriptPath: folder.at('worker.js') },
    ...{ host: '127.0.0.1', port: 0 },
    ...{ compatibilityDate: '2026-04-01', compatibilityFlags: ['nodejs_compat'] },
    r2Buckets: ['BUCKET'],
    r2Persist: folder.at('r2'),
    durableObjects: { ChatAgent: { className: 'ChatAgent', useSQLite: true } },
    durableObjectsPersist: folder.at('objects'),
    bindings: { MODEL_URL: `${server.url}/v1`, MODEL_KEY: 'none' },
  })
}

/** Bundles the example as Cloudflare's tools do. */
async function bundle(file: string): Promise<void> {
  await using build = await rolldown({
    input: resolve('tests/sdks/programs/cloudflare.ts'),
    platform: 'neutral',
    external: /^(?:cloudflare|node):/,
    resolve: {
      conditionNames: ['workerd', 'worker', 'browser', 'import', 'default'],
      mainFields: ['module', 'main'],
    },
    plugins: [
      {
        // A CommonJS module of `agents` requires it, and Workers have no `require()`.
        name: 'path',
        resolveId: id => (id === 'path' ? '\0path' : null),
        load: id => (id === '\0path' ? "export { extname } from 'node:path'" : null),
      },
    ],
  })
  await build.write({ file, format: 'esm', codeSplitting: false })
}

/** A message of the protocol of `agents`. */
interface Frame {
  readonly type: string
  readonly id?: string
  readonly done?: boolean
  readonly error?: boolean
  readonly body?: string
}

/** The client of a conversation. It sends all messages of the page, which the Durable Object stores. */
class Page {
  readonly #url: URL
  readonly #socket: WebSocket
  /** The id of the newest request. */
  #newest = ''

  private constructor(url: URL, socket: WebSocket) {
    this.#url = url
    this.#socket = socket
  }

  static async open(url: URL): Promise<Page> {
    const socket = new WebSocket(Object.assign(new URL(url), { protocol: 'ws:' }))
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve)
      socket.addEventListener('error', reject)
    })
    return new Page(url, socket)
  }

  /** The stored messages. */
  async messages(): Promise<UIMessage[]> {
    return (await (await fetch(`${this.#url.href}/get-messages`)).json()) as UIMessage[]
  }

  /** Sends a message. Rejects if a model call fails. */
  async say(text: string): Promise<void> {
    const question: UIMessage = { id: randomUUID(), role: 'user', parts: [{ type: 'text', text }] }
    await this.#send([...(await this.messages()), question], 'submit-message')
  }

  async regenerate(): Promise<void> {
    const messages = await this.messages()
    const last = messages.findLastIndex(({ role }) => role === 'user')
    await this.#send(messages.slice(0, last + 1), 'regenerate-message')
  }

  /** Stops the newest turn, as the button of a page does. */
  stop(): void {
    this.#socket.send(JSON.stringify({ type: 'cf_agent_chat_request_cancel', id: this.#newest }))
  }

  close(): void {
    this.#socket.close()
  }

  async #send(messages: readonly UIMessage[], trigger: string): Promise<void> {
    const id = randomUUID()
    this.#newest = id
    const ended = Promise.withResolvers<void>()
    const onMessage = ({ data }: MessageEvent): void => {
      const frame = JSON.parse(String(data)) as Frame
      if (frame.id !== id || frame.type !== 'cf_agent_use_chat_response') return
      if (frame.error === true || frame.body?.includes('"type":"error"') === true)
        ended.reject(new Error(frame.body))
      if (frame.done === true) ended.resolve()
    }
    this.#socket.addEventListener('message', onMessage)
    const body = JSON.stringify({ messages, trigger })
    const init = { method: 'POST', body }
    this.#socket.send(JSON.stringify({ type: 'cf_agent_use_chat_request', id, init }))
    await ended.promise.finally(() => this.#socket.removeEventListener('message', onMessage))
  }
}
