import { describe, expect, test } from 'vitest'
import { type MemorySkills, openMemorySkills } from '../../../../tests/fixtures/memory-skills.ts'
import { createAuthorTools } from '../authoring/author-tools.ts'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { MemoryDecisions } from '../history/decisions.ts'
import type { SessionState } from './session-state.ts'
import type { SkillSession } from './skill-session.ts'

const stored = (session: SkillSession): SessionState => JSON.parse(JSON.stringify(session.state()))

/** Opens a process: its own runtime over shared files and shared decisions. */
async function openProcess(files: MemoryFileSystem, decisions: MemoryDecisions): Promise<MemorySkills> {
  return await openMemorySkills([], files, { state: { decisions } })
}

async function write({ skills }: MemorySkills, session: SkillSession): Promise<void> {
  const author = { name: 'the bot', conversation: session.conversation }
  const [tool] = createAuthorTools(skills.writer(), { author })
  const content = '---\nname: notes\ndescription: Takes notes.\n---\nOf an agent.\n'
  const { text } = (await tool?.execute({ skill_name: 'notes', relative_path: 'SKILL.md', content })) ?? {}
  expect(text).toContain('It is live in this conversation.')
}

const sees = async ({ skills }: MemorySkills, session: SkillSession): Promise<boolean> => {
  await skills.reload()
  return skills.forConversation({ id: session.conversation }).current.find('notes') !== undefined
}

describe('T51: conversations with equal ids', () => {
  test('a text that a conversation wrote is not live in a conversation of another process with the same id', async () => {
    const [files, decisions] = [new MemoryFileSystem(), new MemoryDecisions()]
    await using one = await openProcess(files, decisions)
    await using two = await openProcess(files, decisions)
    const [own, other] = [one, two].map(({ skills }) => skills.session({ id: 'mcp-1' })) as [
      SkillSession,
      SkillSession,
    ]
    await write(one, own)
    expect([await sees(one, own), await sees(two, other)]).toEqual([true, false])
  })

  test('a text that a conversation wrote is not live in a later conversation with the same id', async () => {
    await using it = await openProcess(new MemoryFileSystem(), new MemoryDecisions())
    const first = it.skills.session({ id: 'chat-1' })
    await write(it, first)
    first.close()
    expect(await sees(it, it.skills.session({ id: 'chat-1' }))).toBe(false)
  })

  test('a resumed conversation keeps its identity, and a copy of its state under another id does not get it', async () => {
    const [files, decisions] = [new MemoryFileSystem(), new MemoryDecisions()]
    await using it = await openProcess(files, decisions)
    const session = it.skills.session({ id: 'chat-1' })
    await write(it, session)
    const resume = stored(session)
    await using later = await openProcess(files, decisions)
    const resumed = later.skills.session({ id: 'chat-1', resume })
    const fork = later.skills.session({ id: 'chat-2', resume })
    expect([await sees(later, resumed), await sees(later, fork)]).toEqual([true, false])
    expect(stored(later.skills.session({ id: 'chat-1', resume: stored(resumed) }))).toEqual(stored(resumed))
  })

  test('a session that continues a conversation by its identity sees its texts under another id and in another process', async () => {
    const [files, decisions] = [new MemoryFileSystem(), new MemoryDecisions()]
    await using one = await openProcess(files, decisions)
    await using two = await openProcess(files, decisions)
    const session = one.skills.session({ id: 'mcp-1' })
    await write(one, session)
    const { conversation } = session
    const child = two.skills.session({ id: 'other' }).child({ id: 'other/helper', conversation })
    expect(await sees(two, child)).toBe(false)
    expect(await sees(two, two.skills.session({ id: 'mcp-2', conversation }))).toBe(true)
  })

  test('an id of the host is refused where the identity of a conversation is needed', async () => {
    await using it = await openProcess(new MemoryFileSystem(), new MemoryDecisions())
    const session = it.skills.session({ id: 'chat-1' })
    expect(session.conversation).toMatch(/^[0-9a-f]{32}$/)
    const refusal = expect.objectContaining({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('"chat-1", which does not identify a conversation'),
    })
    const author = { conversation: session.id }
    expect(() => createAuthorTools(it.skills.writer(), { author })).toThrow(refusal)
    expect(() => it.skills.forConversation({ id: session.id })).toThrow(refusal)
    expect(() => it.skills.session({ id: 'b', conversation: session.id })).toThrow(refusal)
  })
})
