import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import {
  ConversationBusyError,
  type ConversationStore,
  openConversationStore,
  openPostgresStore,
  resolveModel,
  SkillAgent,
} from '@skillstoke/agent'
import { createSkillRuntime } from '@skillstoke/core'
import { directory } from '@skillstoke/core/node'
import { jsonSchema, tool } from 'ai'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { POSTGRES_PROGRAMS, PostgresServer } from './fixtures/postgres-server.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'
import { countBrokenPrefixes, ModelServer, type Reply } from './sdks/model-server.ts'

const call = (name: string, input: object = {}): Reply => ({ kind: 'call', name, input })
const LOAD = call('skill', { name: 'refund' })

let folder: TemporaryFolder
let state: TemporaryFolder
let server: ModelServer

beforeEach(async () => {
  folder = new TemporaryFolder()
  state = new TemporaryFolder()
  server = await ModelServer.start()
  folder.writeSkill('refund')
})
afterEach(async () => {
  await server[Symbol.asyncDispose]()
  state[Symbol.dispose]()
  folder[Symbol.dispose]()
})

/** Asks a question in a child process. */
function ask(database: string): ChildProcessByStdio<null, Readable, null> {
  const args = ['tests/fixtures/agent-crasher.ts', folder.path, database, `${server.url}/v1`]
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
}

/** Asks a question in a child process, and kills the process when `isReached` resolves. */
async function crash(isReached: (stdout: AsyncIterable<unknown>) => Promise<unknown>): Promise<void> {
  const child = ask(state.at('chats.sqlite'))
  await isReached(child.stdout)
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

/** Answers the stored question in this process. */
async function retry(): Promise<void> {
  await using skills = await createSkillRuntime({ sources: [directory(folder.path)] })
  await using store = await openConversationStore(state.at('chats.sqlite'))
  const model = resolveModel({ model: 'test', baseUrl: `${server.url}/v1` })
  const inputSchema = jsonSchema({ type: 'object', properties: {} })
  const nothing = tool({ inputSchema, execute: () => 'Nothing.' })
  await using agent = new SkillAgent({ skills, model, store, tools: { edit: nothing, hang: nothing } })
  const { text } = await agent.conversation('chat').send({ retry: true })
  expect(text).toBe('Done.')
  expect(agent.conversation('chat').session.ledger.entries()).toMatchObject([{ name: 'refund' }])
}

const countIn = (text: string): number => (server.requests.at(-1)?.text.split(text).length ?? 1) - 1

test('an agent that is killed in a tool continues at once, with the whole prefix, and forgets no load', async () => {
  server.play(LOAD, call('hang'))
  await crash(async stdout => {
    for await (const _ of stdout) return
  })
  folder.writeSkill('maps')
  await retry()
  expect(server.requests).toHaveLength(3)
  expect(countBrokenPrefixes(server.requests)).toBe(0)
  expect([countIn('The question.'), countIn('added: maps'), countIn('Instructions of refund.')]).toEqual([
    1, 1, 1,
  ])
})

test('an agent that is killed while the model answers repeats the request, and no notice twice', async () => {
  server.play(LOAD, call('edit'), { kind: 'hold' })
  await crash(async () => {
    while (server.requests.length < 3) await server.received()
  })
  server.play()
  await retry()
  const [, , held, repeated] = server.requests
  expect(repeated?.parts).toEqual(held?.parts)
  expect(countIn('added: maps')).toBe(1)
})

/** Sends a message in this process while the other process answers, then kills the other process and sends it again. */
async function interrupt(database: string, store: ConversationStore & AsyncDisposable): Promise<void> {
  await using open = store
  server.play(LOAD, call('hang'))
  const child = ask(database)
  for await (const _ of child.stdout) break
  const before = server.requests.length
  await using skills = await createSkillRuntime({ sources: [directory(folder.path)] })
  const model = resolveModel({ model: 'test', baseUrl: `${server.url}/v1` })
  await using agent = new SkillAgent({ skills, model, store: open })
  const send = async (): Promise<string> => (await agent.conversation('chat').send('Quickly.')).text
  await expect(send()).rejects.toBeInstanceOf(ConversationBusyError)
  expect(server.requests).toHaveLength(before)
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
  expect(await send()).toBe('Done.')
  expect(server.requests.at(-1)?.text).toMatch(/The question\..*Quickly\./s)
}

test('a process sends no request while another process answers in its SQLite file', async () => {
  const file = state.at('chats.sqlite')
  await interrupt(file, await openConversationStore(file))
})

test.skipIf(POSTGRES_PROGRAMS === undefined)(
  'a process sends no request while another process answers in the same PostgreSQL database',
  async () => {
    await using postgres = await PostgresServer.start()
    await interrupt(postgres.url, await openPostgresStore(postgres.connect()))
  },
)
