import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { type AiSdkChat, type AiSdkState, aiSdk } from '@skillstoke/adapters/ai-sdk'
import { createSkillRuntime, type SkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import type { ModelMessage } from 'ai'
import type { ChatMessage } from './tools'

type Chat = AiSdkChat<ModelMessage>

// `next dev` evaluates this module again after each edit. What belongs to the process must survive that.
const ours = globalThis as typeof globalThis & { skills?: Promise<SkillRuntime>; chats?: Map<string, Chat> }
ours.chats ??= new Map()

/** Opens a conversation, or continues the conversation that was stored. */
export async function openChat(id: string): Promise<Chat> {
  ours.skills ??= createSkillRuntime({ sources: [directory('./skills')] })
  const skills = await ours.skills
  const stored = await readChat(id)
  const open = ours.chats?.get(id)
  if (open !== undefined) return open
  const options = { id, instructions: 'You help customers.' }
  const chat = aiSdk<ModelMessage>(skills, stored ? { ...options, resume: stored.state } : options)
  ours.chats?.set(id, chat)
  return chat
}

/** What the application stores of a conversation. The browser never receives `state`. */
interface StoredChat {
  readonly messages: ChatMessage[]
  readonly state: AiSdkState<ModelMessage>
}

// A stand-in for your database.
const FOLDER = '.tmp/chats'
const toFile = (id: string): string => `${FOLDER}/${encodeURIComponent(id)}.json`

export async function saveChat(id: string, chat: StoredChat): Promise<void> {
  await mkdir(FOLDER, { recursive: true })
  await writeFile(toFile(id), JSON.stringify(chat))
}

export async function readChat(id: string): Promise<StoredChat | undefined> {
  try {
    return JSON.parse(await readFile(toFile(id), 'utf8')) as StoredChat
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
