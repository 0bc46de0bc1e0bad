import { describe, expect, test } from 'vitest'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { portableHasher } from '../host.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
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
  })

  test('a text that an agent wrote waits for approval even after thousands of other texts', async () => {
    const files = new MemoryFileSystem({ '/mine/pdf/SKILL.md': `${TEXT}Human.\n` })
    const decisions = new MemoryDecisions()
    const source = new FileSource({ fileSystem: files, root: '/mine', label: 'mine', watching: 'off' })
    await using skills = await createSkillRuntime({
      sources: [source],
      state: { decisions },
      tuning: { settle: { settleMs: 0 } },
      clock: new FakeClock(),
    })
    const place = { ...PLACE, origin: source.origin }
    const text = `${TEXT}Bot.\n`
    await decisions.record(place, write('SKILL.md', portableHasher.sha256(new TextEncoder().encode(text))))
    for (let count = 0; count < 1_500; count++)
      await decisions.record(place, write(`notes/${count}.md`, String(count)))
    files.write('/mine/pdf/SKILL.md', text)
    await skills.reload()
    expect(await skills.readBody(skills.current.get('pdf'))).toContain('Human.')
    expect(skills.review.pending()).toHaveLength(1)
    await skills.review.approve('pdf')
    expect(await skills.readBody(skills.current.get('pdf'))).toContain('Bot.')
  })
})
