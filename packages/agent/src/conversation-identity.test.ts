import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSkillRuntime } from '@skillstoke/core'
import { FileSource, MemoryDecisions, MemoryFileSystem, NO_SETTLE } from '@skillstoke/core/source'
import { expect, onTestFinished, test } from 'vitest'
import { ScriptedModel } from '../../../tests/fixtures/scripted-model.ts'
import { skillText } from '../../../tests/fixtures/skill-folder.ts'
import { openConversationStore } from './open-conversation-store.ts'
import { SkillAgent } from './skill-agent.ts'

const KEY = 'a key of thirty-two bytes or more'

/** A process of a host: its own runtime and store over shared files, decisions and conversations. */
class Process implements AsyncDisposable {
  readonly agent: SkillAgent
  readonly #close: () => Promise<void>

  private constructor(agent: SkillAgent, close: () => Promise<void>) {
    this.agent = agent
    this.#close = close
  }

  static async start(
    fileSystem: MemoryFileSystem,
    decisions: MemoryDecisions,
    path: string,
    model: ScriptedModel,
  ): Promise<Process> {
    const source = new FileSource({ fileSystem, root: '/skills', label: 'skills', writable: fileSystem })
    const skills = await createSkillRuntime({
      sources: [source],
      state: { decisions, sealKey: KEY },
      tuning: { settle: NO_SETTLE },
    })
    const store = await openConversationStore(path)
    return new Process(new SkillAgent({ skills, model, store, writer: skills.writer() }), async () => {
      await skills.close()
      await store.close()
    })
  }

  /** Sends a message in a conversation, and returns whether the conversation then sees the written skill. */
  async sees(id: string): Promise<boolean> {
    const { agent } = this
    await agent.conversation(id).send('Go on.')
    const { session } = await agent.open(id)
    const reader = agent.options.skills.forConversation({ id: session.conversation })
    return reader.current.find('notes') !== undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
  }
}

test('T51: a stored conversation keeps its identity in the next process, and its fork and its id alone do not have it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'identity-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'conversations.sqlite')
  const [files, decisions] = [new MemoryFileSystem({ '/skills/.keep': '' }), new MemoryDecisions()]
  const input = { skill_name: 'notes', relative_path: 'SKILL.md', content: skillText('notes') }
  const writing = new ScriptedModel(call =>
    call === 1 ? { tool: 'write_skill_file', input } : { text: 'Done.' },
  )
  {
    await using process = await Process.start(files, decisions, path, writing)
    expect(await process.sees('chat')).toBe(true)
    const { store } = process.agent.options
    await store?.fork('local', 'chat', 4, 'fork')
  }
  const done = new ScriptedModel(() => ({ text: 'Done.' }))
  {
    await using process = await Process.start(files, decisions, path, done)
    expect([await process.sees('chat'), await process.sees('fork')]).toEqual([true, false])
    await process.agent.options.store?.remove('local', 'chat')
  }
  await using process = await Process.start(files, decisions, path, done)
  expect(await process.sees('chat')).toBe(false)
})
