import { renderSkillText } from '../index.ts'
import { revisionOf } from '../internal-entry.ts'
import {
  MemorySkillStore,
  portableHasher,
  type SkillSource,
  type SkillStore,
  type SourceContents,
  type SourceReading,
} from '../source-entry.ts'
import { type ConformanceCase, expect, expectEqual } from './conformance.ts'

/** An empty source under test. */
export interface SourceSubject {
  readonly source: SkillSource
  /** Puts files into the folder of a skill, without using the source. `path` begins with the skill's name. */
  readonly put: (path: string, content: string) => void | Promise<void>
  /** Removes a skill, without using the source. */
  readonly remove: (name: string) => void | Promise<void>
}

const text = (name: string, body = 'Body.'): string =>
  renderSkillText({ name, description: `Does ${name}.`, body })

/**
 * The rules of `SkillSource` as test cases, for any test runner. Call `check` with a fresh subject for each case.
 *
 * @example
 * ```ts
 * import { FileSource, MemoryFileSystem } from '@skillstoke/core/source'
 * import { sourceConformance } from '@skillstoke/core/testing'
 *
 * for (const { check } of sourceConformance) {
 *   const fileSystem = new MemoryFileSystem()
 *   const source = new FileSource({ fileSystem, root: '/skills', label: 'memory' })
 *   const put = (path: string, content: string) => fileSystem.write(`/skills/${path}`, content)
 *   await check({ source, put, remove: name => fileSystem.remove(`/skills/${name}`) })
 * }
 * ```
 */
export const sourceConformance: readonly ConformanceCase<SourceSubject>[] = [
  {
    name: 'read() returns complete contents, sorted, with the label of the source',
    async check({ source, put }) {
      for (const name of ['zebra', 'ant']) await put(`${name}/SKILL.md`, text(name))
      await put('ant/references/more.md', 'More.')
      const { contents } = await read(source)
      expectEqual(
        contents.entries.map(({ location }) => location),
        ['ant', 'zebra'],
        'locations',
      )
      const ant = contents.entries[0]?.skill
      expectEqual([ant?.name, ant?.source, ant?.description], ['ant', source.label, 'Does ant.'], 'the skill')
      expectEqual(
        ant?.files.map(({ path }) => path),
        ['SKILL.md', 'references/more.md'],
        'its files',
      )
    },
  },
  {
    name: 'all bytes and file lists are in the store before the contents are returned',
    async check({ source, put }) {
      await put('pdf/SKILL.md', text('pdf'))
      await put('pdf/a.txt', 'some text')
      const store = new MemorySkillStore()
      const { contents } = await read(source, store)
      const skill = contents.entries[0]?.skill
      expect(skill !== undefined, 'there is a skill')
      if (skill === undefined) return
      expectEqual(skill.revision, revisionOf(skill.files, portableHasher), 'the revision of its files')
      expectEqual(await store.getTree(skill.revision), skill.files, 'the stored list')
      for (const { digest, size } of skill.files)
        expectEqual((await store.get(digest))?.length, size, 'stored bytes')
    },
  },
  {
    name: 'an unchanged skill is the same object, and a changed skill is a new object',
    async check({ source, put }) {
      await put('a/SKILL.md', text('a'))
      await put('b/SKILL.md', text('b'))
      const store = new MemorySkillStore()
      const before = (await read(source, store)).contents.entries
      await put('b/SKILL.md', text('b', 'Another body.'))
      const after = (await read(source, store)).contents.entries
      expect(after[0] === before[0], 'the entry of a')
      expect(after[1]?.skill?.revision !== before[1]?.skill?.revision, 'the revision of b')
      const again = (await read(source, store)).contents.entries
      expect(again[1] === after[1], 'the entry of b when it is read again')
    },
  },
  {
    name: 'a removed skill disappears, and can come back',
    async check({ source, put, remove }) {
      await put('a/SKILL.md', text('a'))
      await put('b/SKILL.md', text('b'))
      const store = new MemorySkillStore()
      await read(source, store)
      await remove('a')
      expectEqual(namesOf(await read(source, store)), ['b'], 'after the removal')
      await put('a/SKILL.md', text('a'))
      expectEqual(namesOf(await read(source, store)), ['a', 'b'], 'after it came back')
    },
  },
  {
    name: 'a broken text is reported with its line, and does not affect other skills',
    async check({ source, put }) {
      await put('good/SKILL.md', text('good'))
      await put('bad/SKILL.md', '---\nname: bad\ndescription: "unclosed\n---\n')
      const store = new MemorySkillStore()
      const { entries } = (await read(source, store)).contents
      const bad = entries.find(({ location }) => location === 'bad')
      expect(bad !== undefined && bad.skill === undefined, 'the broken entry exists, without a skill')
      const error = bad?.diagnostics.find(({ severity }) => severity === 'error')
      expectEqual([error?.code, error?.line], ['YAML_INVALID', 3], 'what is wrong')
      await put('bad/SKILL.md', text('bad'))
      expectEqual(namesOf(await read(source, store)), ['bad', 'good'], 'after the repair')
    },
  },
  {
    name: 'a source with events reports changes as hints, and reports nothing after stop()',
    async check({ source, put }) {
      const hints: string[] = []
      const watch = source.watch?.(area => void hints.push(area))
      await read(source)
      if (watch === undefined || source.state().mode !== 'events') {
        watch?.stop()
        return
      }
      hints.length = 0
      await put('new/SKILL.md', text('new'))
      await watch.drain?.()
      expect(hints.length > 0, 'a hint')
      watch.stop()
      await read(source)
      hints.length = 0
      await put('newer/SKILL.md', text('newer'))
      await watch.drain?.()
      expectEqual(hints, [], 'hints after the end')
    },
  },
]

async function read(source: SkillSource, store: SkillStore = new MemorySkillStore()): Promise<SourceReading> {
  const context = {
    store,
    hasher: portableHasher,
    depth: 'full',
    final: true,
    signal: new AbortController().signal,
  } as const
  return await source.read(context)
}

function namesOf({ contents }: { readonly contents: SourceContents }): string[] {
  return contents.entries.flatMap(({ skill }) => skill?.name ?? [])
}
