import { describe, expect, test } from 'vitest'
import { createAuthorTools } from '../authoring/author-tools.ts'
import { InProcessWriteLock } from '../authoring/write-lock.ts'
import type { DirectoryEntry, FileReadOptions, FileStat, OpenedFile } from '../fs/file-system.ts'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import type { FileWriteOptions } from '../fs/writable-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import type { SkillSession } from '../session/skill-session.ts'
import { FileSource } from '../source/file-source.ts'
import { NO_SETTLE } from '../source/settle.ts'
import type { ToolDefinition } from './tool-definition.ts'

const reason = new Error('the user has left')
const text = (body: string): string => `---\nname: pdf\ndescription: Does pdf.\n---\n${body}\n`

/** A file system whose operations can be made to wait. */
class StallingFiles extends MemoryFileSystem {
  /** Number of operations since the start. */
  count = 0
  #stall: PromiseWithResolvers<void> | undefined
  #stalled = Promise.withResolvers<void>()

  /** Makes all operations wait. Resolves when the first operation waits. */
  async stall(): Promise<void> {
    this.#stall = Promise.withResolvers()
    this.#stalled = Promise.withResolvers()
    await this.#stalled.promise
  }

  goOn(): void {
    this.#stall?.resolve()
    this.#stall = undefined
  }

  async #wait(): Promise<void> {
    this.count++
    if (this.#stall === undefined) return
    this.#stalled.resolve()
    await this.#stall.promise
  }

  override async list(path: string): Promise<readonly DirectoryEntry[]> {
    await this.#wait()
    return await super.list(path)
  }

  override async stat(path: string): Promise<FileStat> {
    await this.#wait()
    return await super.stat(path)
  }

  override async read(path: string, options: FileReadOptions): Promise<OpenedFile> {
    await this.#wait()
    return await super.read(path, options)
  }
}

interface Harness extends AsyncDisposable {
  readonly files: StallingFiles
  readonly skills: SkillRuntime
  readonly session: SkillSession
  readonly lock: InProcessWriteLock
  tool(name: string): ToolDefinition
}

async function open(files: StallingFiles = new StallingFiles(START)): Promise<Harness> {
  const source = new FileSource({
    fileSystem: files,
    root: '/skills',
    label: 'skills',
    watching: 'off',
    writable: files,
  })
  const lock = new InProcessWriteLock()
  const skills = await createSkillRuntime({
    sources: [source],
    tuning: { settle: NO_SETTLE },
    review: { agentWrites: 'live' },
    state: { writeLock: lock },
  })
  const session = skills.session({ id: 's' })
  const tools = [...session.tools, ...createAuthorTools(skills.writer())]
  return {
    files,
    skills,
    session,
    lock,
    tool: name => {
      const found = tools.find(each => each.name === name)
      if (found === undefined) throw new Error(`no tool ${name}`)
      return found
    },
    [Symbol.asyncDispose]: async () => {
      files.goOn()
      await skills.close()
    },
  }
}

const START = { '/skills/pdf/SKILL.md': text('First.'), '/skills/pdf/a.md': 'a' }
const INPUTS: Readonly<Record<string, object>> = {
  skill: { name: 'pdf' },
  read_skill_file: { skill: 'pdf', path: 'a.md' },
  write_skill_file: { skill_name: 'pdf', relative_path: 'SKILL.md', content: text('Second.') },
  reload_skills: {},
}

const onDisk = async (files: MemoryFileSystem): Promise<string> =>
  new TextDecoder().decode((await files.read('/skills/pdf/SKILL.md', { inside: ['/'], maxBytes: 1e6 })).bytes)

describe.each(Object.entries(INPUTS))('%s', (name, input) => {
  test('a call reads and writes nothing if its signal was aborted before the call', async () => {
    await using it = await open()
    const { count } = it.files
    await expect(it.tool(name).execute(input, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(it.files.count).toBe(count)
    expect(it.session.ledger.entries()).toEqual([])
    expect(await onDisk(it.files)).toBe(text('First.'))
  })

  test('an aborted call rejects while the disk hangs, and has no effect later', async () => {
    await using it = await open()
    const stop = new AbortController()
    const stalled = it.files.stall()
    const call = it.tool(name).execute(input, { signal: stop.signal })
    await stalled
    stop.abort(reason)
    await expect(call).rejects.toBe(reason)
    it.files.goOn()
    // When this call ends, the work of the aborted call has also ended.
    const other = name === 'skill' ? 'read_skill_file' : 'skill'
    expect((await it.tool(other).execute(INPUTS[other])).isError).toBe(false)
    await it.skills.reload()
    expect(it.session.ledger.entries()).toHaveLength(name === 'skill' ? 0 : 1)
    expect(it.session.active).toHaveLength(name === 'skill' ? 0 : 1)
    expect(await onDisk(it.files)).toBe(text('First.'))
  })
})

describe('write_skill_file', () => {
  test('if a write is aborted while waiting for the lock, the call rejects, and nothing is written later', async () => {
    await using it = await open()
    const { promise, resolve } = Promise.withResolvers<void>()
    const isHeld = Promise.withResolvers<void>()
    const other = it.lock.run(async () => {
      isHeld.resolve()
      await promise
    })
    await isHeld.promise
    const stop = new AbortController()
    const call = it.tool('write_skill_file').execute(INPUTS['write_skill_file'], { signal: stop.signal })
    await it.skills.reload() // by now the call has read the disk and waits for the lock
    stop.abort(reason)
    await expect(call).rejects.toBe(reason)
    resolve()
    await other
    await it.lock.run(async () => undefined)
    expect(await onDisk(it.files)).toBe(text('First.'))
  })

  test('if a write is aborted after its start, the write is completed, and the call rejects', async () => {
    const stop = new AbortController()
    const files = new (class extends StallingFiles {
      override write(path: string, content: string | Uint8Array, options?: Partial<FileWriteOptions>): void {
        // Abort just before the tool writes bytes. The initial files are written as strings.
        if (typeof content !== 'string') stop.abort(reason)
        super.write(path, content, options)
      }
    })(START)
    await using it = await open(files)
    await expect(
      it.tool('write_skill_file').execute(INPUTS['write_skill_file'], { signal: stop.signal }),
    ).rejects.toBe(reason)
    expect(await onDisk(it.files)).toBe(text('Second.'))
    await it.skills.reload()
    expect((await it.skills.load('pdf')).body).toBe('Second.')
  })
})
