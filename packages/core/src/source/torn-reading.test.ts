import { expect, test } from 'vitest'
import type { FileReadOptions, FileStat, OpenedFile } from '../fs/file-system.ts'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { FileSource } from './file-source.ts'

const FILE = '/skills/pdf/SKILL.md'
const text = (body: string): string => `---\nname: pdf\ndescription: Does pdf.\n---\n${body}\n`

/**
 * A file system whose file times come from a clock. A test can write a file after its stat was read and before its
 * bytes are read.
 */
class TimedFileSystem extends MemoryFileSystem {
  readonly clock = new FakeClock()
  onOpened: (() => void) | undefined
  readonly #times = new Map<string, number>()

  override write(path: string, content: string): void {
    this.#times?.set(path, this.clock.now())
    super.write(path, content)
  }

  override async stat(path: string): Promise<FileStat> {
    const stat = await super.stat(path)
    const time = this.#times.get(path) ?? stat.mtimeMs
    return { ...stat, mtimeMs: time, ctimeMs: time }
  }

  override async read(path: string, options: FileReadOptions): Promise<OpenedFile> {
    const stat = await this.stat(path)
    if (path === FILE) {
      this.onOpened?.()
      this.onOpened = undefined
    }
    return { ...(await super.read(path, options)), stat }
  }
}

test('if half a text is read with the size and times of the whole text, the half is never published', async () => {
  const files = new TimedFileSystem()
  const { clock } = files
  files.write(FILE, text('old'))
  const source = new FileSource({ fileSystem: files, root: '/skills', label: 'skills', clock })
  await using skills = await createSkillRuntime({ sources: [source], clock })
  await clock.advance(3_000)
  files.write('/skills/pdf/notes.md', 'x\n')
  files.onOpened = () => files.write(FILE, text('a longer text that').trim())
  for (let at = 0; at < 200; at += 10) {
    await clock.advance(10)
    expect(await skills.readBody(skills.current.get('pdf'))).toBe('old')
  }
  files.write(FILE, text('a longer text that is whole'))
  await clock.advance(100)
  expect(await skills.readBody(skills.current.get('pdf'))).toBe('a longer text that is whole')
})

test('half a text in an emptied file is not published, even if an earlier read found the file empty', async () => {
  const files = new TimedFileSystem()
  const { clock } = files
  files.write(FILE, text('old'))
  const source = new FileSource({ fileSystem: files, root: '/skills', label: 'skills', clock })
  await using skills = await createSkillRuntime({ sources: [source], clock })
  await clock.advance(3_000)
  files.write(FILE, '')
  await clock.advance(1_000)
  files.write(FILE, text('a longer text that').trim())
  await clock.advance(200)
  expect(await skills.readBody(skills.current.get('pdf'))).toBe('old')
  files.write(FILE, text('a longer text that is whole'))
  await clock.advance(100)
  expect(await skills.readBody(skills.current.get('pdf'))).toBe('a longer text that is whole')
})
