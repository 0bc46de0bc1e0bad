import { describe, expect, test } from 'vitest'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import type { Digest } from '../skill/digest.ts'
import { FileSource } from '../source/file-source.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { type FolderDecisions, MemoryDecisions, type RecordedDecision, withDecision } from './decisions.ts'

const PLACE = { origin: '/mine', location: 'pdf' }
const TEXT = '---\nname: pdf\ndescription: Does pdf.\n---\n'

function write(path: string, digest: string): RecordedDecision {
  return { kind: 'write', path, digest: `sha256:${digest}`, by: 'the bot', at: 0 }
}

describe('notes about texts that agents wrote', () => {
  test('the note about one file is kept even if the agent writes another file thousands of times', () => {
    let folder: FolderDecisions | undefined = withDecision(undefined, write('scripts/evil.sh', 'evil'))
    for (let count = 0; count < 5_000; count++)
      folder = withDecision(folder, write('SKILL.md', String(count)))
    expect(folder?.writes.filter(({ path }) => path === 'scripts/evil.sh')).toHaveLength(1)
    expect(folder?.writes.length).toBeLessThan(50)
    expect(folder?.forgotten).toBeUndefined()
  })

  test('when a folder has too many notes, the oldest note is dropped, and every later change waits for an approval', async () => {
    const files = new MemoryFileSystem({ '/mine/pdf/SKILL.md': `${TEXT}Human.\n` })
    const decisions = new MemoryDecisions()
    const source = new FileSource({ fileSystem: files, root: '/mine', label: 'mine', watching: 'off' })
    await using skills = await createSkillRuntime({
      sources: [source],
      state: { decisions },
      tuning: { settle: { settleMs: 0 } },
      clock: new FakeClock(),
    })
    for (let count = 0; count < 1_500; count++)
      await decisions.record({ ...PLACE, origin: source.origin }, write(`notes/${count}.md`, String(count)))
    files.write('/mine/pdf/SKILL.md', `${TEXT}Somebody.\n`)
    await skills.reload()
    expect(await skills.readBody(skills.current.get('pdf'))).toContain('Human.')
    expect(
      skills.review
        .pending()[0]
        ?.diagnostics.map(({ message }) => message)
        .join(),
    ).toContain('agents wrote more texts to this folder than can be tracked')
    await skills.review.approve('pdf')
    expect(await skills.readBody(skills.current.get('pdf'))).toContain('Somebody.')
    files.write('/mine/pdf/SKILL.md', `${TEXT}Again.\n`)
    await skills.reload()
    expect(await skills.readBody(skills.current.get('pdf'))).toContain('Again.')
  })
})

test('a folder that lost a note stays marked until its newest revision is approved', () => {
  let folder: FolderDecisions | undefined
  for (let count = 0; count < 1_001; count++)
    folder = withDecision(folder, write(`${count}.md`, String(count)))
  const revision: Digest = 'sha256:revision'
  const meta = { by: 'somebody', at: 1 }
  for (const kind of ['disable', 'enable', 'unpin'] as const) folder = withDecision(folder, { kind, ...meta })
  folder = withDecision(folder, { kind: 'pin', revision, ...meta })
  expect(folder.forgotten?.path).toBe('0.md')
  expect(withDecision(folder, { kind: 'approve', revision, ...meta }).forgotten).toBeUndefined()
})
