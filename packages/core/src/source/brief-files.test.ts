import { expect, test } from 'vitest'
import type { FileStat } from '../fs/file-system.ts'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { FileSource } from './file-source.ts'

const text = (name: string, body: string): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}\n`

/** A file system whose file times come from a clock. */
class TimedFileSystem extends MemoryFileSystem {
  readonly clock = new FakeClock()
  readonly #born = new Map<string, number>()

  override write(path: string, content: string): void {
    if (this.#born?.has(path) === false) this.#born.set(path, this.clock.now())
    super.write(path, content)
  }

  override async stat(path: string): Promise<FileStat> {
    const stat = await super.stat(path)
    return { ...stat, birthtimeMs: this.#born.get(path) ?? stat.birthtimeMs }
  }
}

async function open(): Promise<{ files: TimedFileSystem; clock: FakeClock; skills: SkillRuntime }> {
  const files = new TimedFileSystem()
  const { clock } = files
  files.write('/skills/pdf/SKILL.md', text('pdf', 'Old.'))
  files.write('/skills/tone/SKILL.md', text('tone', 'Old.'))
  const source = new FileSource({ fileSystem: files, root: '/skills', label: 'skills', clock })
  const skills = await createSkillRuntime({ sources: [source], clock })
  await clock.advance(60_000)
  return { files, clock, skills }
}

test('a new file with a name that sed gives to its copies delays only its own skill, for at most ten seconds', async () => {
  const { files, clock, skills } = await open()
  const { revision } = skills.current.get('pdf')
  const paths = (): readonly string[] => skills.current.get('pdf').files.map(({ path }) => path)
  files.write('/skills/pdf/sedAb12Cd', 'x\n')
  files.write('/skills/tone/SKILL.md', text('tone', 'New.'))
  await clock.advance(3_000)
  expect(skills.current.get('pdf').revision).toBe(revision)
  expect(await skills.readBody(skills.current.get('tone'))).toBe('New.')
  await clock.advance(8_000)
  expect(paths()).toEqual(['SKILL.md', 'sedAb12Cd'])
  await skills.close()
})

test('files with brief names that follow each other delay a skill for ten seconds only', async () => {
  const { files, clock, skills } = await open()
  const body = async (): Promise<string> => await skills.readBody(skills.current.get('pdf'))
  files.write('/skills/pdf/0.tmp', 'x')
  files.write('/skills/pdf/SKILL.md', text('pdf', 'New.'))
  for (const count of [1, 2, 3]) {
    await clock.advance(3_000)
    files.write(`/skills/pdf/${count}.tmp`, 'x')
  }
  expect(await body()).toBe('Old.')
  await clock.advance(3_000)
  expect(await body()).toBe('New.')
  // The delay does not begin again while the files keep coming.
  files.write('/skills/pdf/4.tmp', 'x')
  files.write('/skills/pdf/SKILL.md', text('pdf', 'Newer.'))
  await clock.advance(1_000)
  expect(await body()).toBe('Newer.')
  await skills.close()
})

test('a file of a person whose name is the one of the probe of Vim becomes part of its skill', async () => {
  const { files, clock, skills } = await open()
  files.write('/skills/pdf/references/4913', 'x\n')
  await clock.advance(11_000)
  expect(skills.current.get('pdf').files.map(({ path }) => path)).toEqual(['SKILL.md', 'references/4913'])
  await skills.close()
})

test('a save through a file with a brief name causes one revision', async () => {
  const { files, clock, skills } = await open()
  const bodies: string[] = []
  skills.subscribe(async () => void bodies.push(await skills.readBody(skills.current.get('pdf'))))
  files.write('/skills/pdf/SKILL.md.aBcDeF', text('pdf', 'New.'))
  await clock.advance(1_000)
  files.remove('/skills/pdf/SKILL.md.aBcDeF')
  files.write('/skills/pdf/SKILL.md', text('pdf', 'New.'))
  await clock.advance(2_000)
  expect(bodies).toEqual(['New.'])
  expect(skills.current.get('pdf').files.map(({ path }) => path)).toEqual(['SKILL.md'])
  await skills.close()
})

test('an old file with a brief name is an ordinary file at the start', async () => {
  const files = new TimedFileSystem()
  const { clock } = files
  files.write('/skills/pdf/sedAb12Cd', 'x')
  files.write('/skills/pdf/SKILL.md', text('pdf', 'Old.'))
  const source = new FileSource({ fileSystem: files, root: '/skills', label: 'skills', clock })
  await using skills = await createSkillRuntime({ sources: [source], clock })
  expect(skills.current.get('pdf').files.map(({ path }) => path)).toEqual(['SKILL.md', 'sedAb12Cd'])
})
