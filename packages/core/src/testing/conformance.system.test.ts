import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { verifies } from '@skillstoke/requirements'
import { afterEach, describe, expect, test } from 'vitest'
import { InProcessEventBus } from '../events/event-bus.ts'
import { createSkillRuntime, MemorySource, renderCatalog } from '../index.ts'
import { directory, NodeFileSystem } from '../node-entry.ts'
import {
  adaptFileSystem,
  FileSource,
  type FileSystem,
  MemoryFileSystem,
  type SimpleFiles,
} from '../source-entry.ts'
import { FakeClock } from './fake-clock.ts'
import {
  eventBusConformance,
  type FileSystemSubject,
  fileSystemConformance,
  type SourceSubject,
  sourceConformance,
} from './index.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** An empty folder, and functions that change it. */
interface Place {
  readonly root: string
  readonly put: (path: string, content: string | Uint8Array) => void
  readonly remove: (path: string) => void
}

function disk(): Place {
  const base = mkdtempSync(join(tmpdir(), 'conformance-'))
  folders.push(base)
  const root = join(base, 'root')
  mkdirSync(root)
  return {
    root,
    put: (path, content) => {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, content)
    },
    remove: path => rmSync(path, { recursive: true }),
  }
}

function memory(): Place & { readonly files: MemoryFileSystem } {
  const files = new MemoryFileSystem({ '/base/root/.keep': '' })
  files.remove('/base/root/.keep')
  return {
    files,
    root: '/base/root',
    put: (path, content) => files.write(path, content),
    remove: path => files.remove(path),
  }
}

/**
 * Returns the functions with which a host adapts its storage. In this test, the storage is a map of paths instead of a
 * database or bucket.
 */
function ofMap(map: ReadonlyMap<string, Uint8Array>): SimpleFiles {
  const below = (path: string): string[] => [...map.keys()].filter(key => key.startsWith(`${path}/`))
  return {
    list: async path => {
      const names = new Map<string, 'file' | 'directory'>()
      for (const key of below(path)) {
        const [name = '', ...rest] = key.slice(path.length + 1).split('/')
        names.set(name, rest.length === 0 ? 'file' : 'directory')
      }
      if (names.size === 0 && path !== '/base/root') return undefined
      return [...names].map(([name, kind]) => ({ name, kind }))
    },
    stat: async path => {
      const bytes = map.get(path)
      if (bytes !== undefined) return { kind: 'file', size: bytes.length }
      return path === '/base/root' || below(path).length > 0 ? { kind: 'directory' } : undefined
    },
    read: async path => map.get(path),
  }
}

function adapted(): FileSystemSubject {
  const map = new Map<string, Uint8Array>()
  return {
    fileSystem: adaptFileSystem(ofMap(map)),
    root: '/base/root',
    put: (path, content) =>
      void map.set(path, typeof content === 'string' ? new TextEncoder().encode(content) : content),
    remove: path => {
      for (const key of [...map.keys()]) if (key === path || key.startsWith(`${path}/`)) map.delete(key)
    },
  }
}

const fileSystems: Readonly<Record<string, () => FileSystemSubject | Promise<FileSystemSubject>>> = {
  memory: () => {
    const { files, ...rest } = memory()
    return { fileSystem: files, writable: files, ...rest }
  },
  disk: () => {
    const files = new NodeFileSystem()
    return { fileSystem: files, writable: files, ...disk() }
  },
  'a map behind three functions': adapted,
}

describe.each(Object.entries(fileSystems))('file system: %s', (_, create) => {
  test.each(fileSystemConformance)(`$name ${verifies('PAI-05')}`, async promise => {
    await promise.check(await create())
  })
})

function sourceOf(subject: FileSystemSubject, fileSystem: FileSystem = subject.fileSystem): SourceSubject {
  return {
    source: new FileSource({ fileSystem, root: subject.root, label: 'skills' }),
    put: (path, content) => subject.put(`${subject.root}/${path}`, content),
    remove: name => subject.remove(`${subject.root}/${name}`),
  }
}

const sources: Readonly<Record<string, () => SourceSubject | Promise<SourceSubject>>> = {
  ...Object.fromEntries(
    Object.entries(fileSystems).map(([name, create]) => [name, async () => sourceOf(await create())]),
  ),
  'directory()': () => {
    const { root, put, remove } = disk()
    return {
      source: directory(root, { label: 'skills' }),
      put: (path, content) => put(join(root, path), content),
      remove: name => remove(join(root, name)),
    }
  },
  MemorySource: () => {
    const source = new MemorySource({ label: 'skills' })
    const kept = new Map<string, Record<string, string>>()
    return {
      source,
      put: (path, content) => {
        const [name = '', ...rest] = path.split('/')
        const files = { ...kept.get(name), [rest.join('/')]: content }
        kept.set(name, files)
        source.putFolder(name, files)
      },
      remove: name => {
        kept.delete(name)
        source.remove(name)
      },
    }
  },
}

describe.each(Object.entries(sources))('source: %s', (_, create) => {
  test.each(sourceConformance)('$name', async promise => {
    await promise.check(await create())
  })
})

describe('event bus inside one process', () => {
  test.each(eventBusConformance)('$name', async promise => {
    await promise.check(new InProcessEventBus())
  })
})

describe('another machine', () => {
  const text = (name: string, body = 'Body.'): string =>
    `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}\n`

  test('a scan times out when the file system does not answer, and close() does not wait', async () => {
    const clock = new FakeClock()
    let isStuck = false
    const signals: AbortSignal[] = []
    const map = new Map([['/base/root/pdf/SKILL.md', new TextEncoder().encode(text('pdf'))]])
    const files = ofMap(map)
    const hang = async (signal?: AbortSignal): Promise<never> => {
      if (signal !== undefined) signals.push(signal)
      return await new Promise(() => undefined)
    }
    const fileSystem = adaptFileSystem(
      {
        ...files,
        read: async (path, options) =>
          isStuck ? await hang(options.signal) : await files.read(path, options),
      },
      { clock, timeoutMs: 100 },
    )
    const source = new FileSource({ fileSystem, root: '/base/root', label: 'slow', clock })
    const skills = await createSkillRuntime({ sources: [source], clock })
    isStuck = true
    const reload = skills.reload()
    await clock.advance(101)
    const { errors } = await reload
    expect(errors[0]?.message).toContain('no answer after 100 ms')
    expect(signals[0]?.aborted).toBe(true)
    expect(skills.current.get('pdf').description).toBe('Does pdf.')
    skills.reload().catch(() => undefined) // pending until close()
    await clock.advance(10)
    await skills.close()
  })

  test('a storage may omit file sizes and times, but a size in characters instead of bytes is reported as a fault', async () => {
    const map = new Map([['/base/root/pdf/SKILL.md', new TextEncoder().encode(text('pdf', 'Grüße.'))]])
    const files = ofMap(map)
    const openWith = async (
      size: (bytes: number) => object,
    ): Promise<[string[], number | undefined, string | undefined]> => {
      const fileSystem = adaptFileSystem({
        ...files,
        stat: async path => {
          const { size: bytes = 0, ...stat } = (await files.stat(path)) ?? { kind: 'other' as const }
          return stat.kind === 'other' ? undefined : { ...stat, ...size(bytes) }
        },
      })
      await using skills = await createSkillRuntime({
        sources: [new FileSource({ fileSystem, root: '/base/root', label: 'x' })],
      })
      const [skill] = skills.current.list()
      const [report] = skills.current.reports()
      const fault = report?.diagnostics.find(({ severity }) => severity === 'error')
      return [skills.current.list().map(({ name }) => name), skill?.files[0]?.size, fault?.message]
    }
    const length = map.get('/base/root/pdf/SKILL.md')?.length
    expect(await openWith(() => ({}))).toEqual([['pdf'], length, undefined])
    expect(await openWith(size => ({ size: size - 2 }))).toEqual([
      [],
      undefined,
      expect.stringContaining('sizes are in bytes, not characters'),
    ])
  })

  test.each([
    [{ timeoutMs: -1 }, 'timeoutMs is -1; use a number from 1 on'],
    [{ concurrency: 0 }, 'concurrency is 0; use a number from 1 on'],
    [{ separator: '|' as '/' }, 'separator is "|"'],
  ])('adaptFileSystem() refuses %j', (options, message) => {
    expect(() => adaptFileSystem(ofMap(new Map()), options)).toThrow(message)
    expect(() => adaptFileSystem({} as SimpleFiles)).toThrow('files.list is undefined; it must be a function')
  })

  test(`messages show paths in the notation of the remote machine ${verifies('PAI-09', 'PAI-X06')}`, async () => {
    const seen: string[] = []
    const native = new Map([['C:\\work\\skills\\pdf\\SKILL.md', new TextEncoder().encode(text('pdf'))]])
    const toSlash = (path: string): string => {
      seen.push(path)
      return path.replaceAll('\\', '/')
    }
    const map = new Map([...native].map(([path, bytes]) => [path.replaceAll('\\', '/'), bytes]))
    const files = ofMap(map)
    const fileSystem = adaptFileSystem(
      {
        list: path => files.list(toSlash(path)),
        stat: path => files.stat(toSlash(path)),
        read: (path, options) => files.read(toSlash(path), options),
      },
      { separator: '\\' },
    )
    const source = new FileSource({
      fileSystem,
      root: 'C:\\work\\skills',
      label: 'windows',
      hasDirectories: true,
    })
    await using skills = await createSkillRuntime({ sources: [source] })
    expect(skills.current.get('pdf').directory).toBe('C:\\work\\skills\\pdf')
    expect(renderCatalog(skills.current.list(), { format: 'agentskills-xml' }).text).toContain(
      '<location>C:\\work\\skills\\pdf\\SKILL.md</location>',
    )
    expect(seen.filter(path => path.includes('/'))).toEqual([])
  })
})
