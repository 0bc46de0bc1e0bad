import { createOpenAI } from '@ai-sdk/openai'
import { AIChatAgent, type OnChatMessageOptions } from '@cloudflare/ai-chat'
import { type AiSdkChat, type AiSdkState, aiSdk, toAiTools } from '@skillstoke/adapters/ai-sdk'
import { createSkillRuntime } from '@skillstoke/core'
import { adaptFileSystem, FileSource, type FileSystem } from '@skillstoke/core/source'
import { routeAgentRequest } from 'agents'
import {
  convertToModelMessages,
  createUIMessageStreamResponse,
  experimental_createSteering,
  type ModelMessage,
  stepCountIs,
  streamText,
  type UIMessage,
  type UIMessageChunk,
} from 'ai'

/** A conversation that follows the skills of a bucket. */
export class ChatAgent extends AIChatAgent<Env> {
  #chat!: AiSdkChat<ModelMessage>

  override async onStart(): Promise<void> {
    const fileSystem = bucketFiles(this.env.BUCKET)
    const source = new FileSource({ fileSystem, root: '/skills', label: 'bucket', watching: 'off' })
    const skills = await createSkillRuntime({ sources: [source] })
    const resume = await this.ctx.storage.get<AiSdkState<ModelMessage>>('skills')
    const options = { id: this.name, instructions: 'You help.' }
    this.#chat = aiSdk(skills, resume === undefined ? options : { ...options, resume })
  }

  override async onChatMessage(_onFinish: unknown, options?: OnChatMessageOptions): Promise<Response> {
    const openai = createOpenAI({ baseURL: this.env.MODEL_URL, apiKey: this.env.MODEL_KEY })
    const stored = this.messages.map(restoreNotices)
    const tools = toAiTools(this.#chat.session.tools)
    const messages = await convertToModelMessages(stored, { tools, ignoreIncompleteToolCalls: true })
    const steering = experimental_createSteering()
    const call = await this.#chat.ui(messages, { steering, onStepEnd: () => this.#store() })
    const { abortSignal } = options ?? {}
    const settings = { stopWhen: stepCountIs(20), ...(abortSignal && { abortSignal }) }
    const result = streamText({ model: openai.chat('gpt-6-mini'), ...call, ...settings })
    return createUIMessageStreamResponse({ stream: result.toUIMessageStream().pipeThrough(storeNotices()) })
  }

  /** Also runs after an error, and after the user stopped the turn. */
  override async onChatResponse(): Promise<void> {
    await this.#store()
  }

  async #store(): Promise<void> {
    await this.ctx.storage.put('skills', this.#chat.state())
  }
}

/** `AIChatAgent` stores no steering messages, but it stores data parts. */
function storeNotices(): TransformStream<UIMessageChunk, UIMessageChunk> {
  return new TransformStream({
    transform(chunk, controller) {
      const isNotice = chunk.type === 'steering-message'
      controller.enqueue(isNotice ? { type: 'data-notice', data: chunk } : chunk)
    },
  })
}

function restoreNotices(message: UIMessage): UIMessage {
  const parts = message.parts.map(part => (part.type === 'data-notice' ? part.data : part))
  return { ...message, parts: parts as UIMessage['parts'] }
}

/** Reads the objects of a bucket as files. The object `skills/refund/SKILL.md` is the file `/skills/refund/SKILL.md`. */
function bucketFiles(bucket: R2Bucket): FileSystem {
  const list = async (path: string): Promise<{ name: string; kind: 'file' | 'directory' }[] | undefined> => {
    const prefix = `${path.slice(1)}/`
    const { objects, delimitedPrefixes } = await bucket.list({ prefix, delimiter: '/' })
    const folders = delimitedPrefixes.map(name => ({
      name: name.slice(prefix.length, -1),
      kind: 'directory' as const,
    }))
    const files = objects.map(({ key }) => ({ name: key.slice(prefix.length), kind: 'file' as const }))
    return folders.length + files.length === 0 && path !== '/skills' ? undefined : [...folders, ...files]
  }
  return adaptFileSystem({
    list,
    async stat(path) {
      const object = await bucket.head(path.slice(1))
      if (object !== null) return { kind: 'file', size: object.size, mtimeMs: object.uploaded.getTime() }
      return (await list(path)) === undefined ? undefined : { kind: 'directory' }
    },
    async read(path) {
      const object = await bucket.get(path.slice(1))
      return object === null ? undefined : new Uint8Array(await object.arrayBuffer())
    },
  })
}

// biome-ignore lint/style/noDefaultExport: Workers require it
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    return (await routeAgentRequest(request, env)) ?? new Response('not found', { status: 404 })
  },
}
