import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import { CATALOG_FORMAT_NAMES } from '../catalog/catalog-format.ts'
import type { CatalogOptions } from '../catalog/render-catalog.ts'
import { InProcessEventBus } from '../events/event-bus.ts'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import type { Logger } from '../host.ts'
import type { Skill } from '../skill/skill.ts'
import { FileSource, ROOT_GRACE_MS } from '../source/file-source.ts'
import type { FileSourceOptions } from '../source/file-source-options.ts'
import { NO_SETTLE } from '../source/settle.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { createSkillRuntime } from './create-skill-runtime.ts'
import type { SkillRuntime } from './skill-runtime.ts'
import type { SkillRuntimeOptions } from './skill-runtime-options.ts'

const text = (name: string, description = `Does ${name}.`, body = `Body of ${name}.`): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n${body}\n`

interface Harness extends AsyncDisposable {
  readonly files: MemoryFileSystem
  readonly skills: SkillRuntime
  readonly warnings: string[]
}

/**
 * Opens a runtime with one source for each folder of a file system in memory. The label of a source is the name of its
 * folder.
 */
async function open(
  files: MemoryFileSystem | Readonly<Record<string, string>>,
  options: Partial<SkillRuntimeOptions> & {
    readonly folders?: readonly string[]
    readonly source?: Partial<FileSourceOptions>
  } = {},
): Promise<Harness> {
  const { folders = ['skills'], source, ...rest } = options
  const fileSystem = files instanceof MemoryFileSystem ? files : new MemoryFileSystem(files)
  const warnings: string[] = []
  const note = (message: string): void => void warnings.push(message)
  const quiet = (): void => undefined
  const logger: Logger = { debug: quiet, info: quiet, warn: note, error: note }
  const skills = await createSkillRuntime({
    sources: folders.map(label => new FileSource({ fileSystem, root: `/${label}`, label, ...source })),
    logger,
    ...rest,
    tuning: { settle: NO_SETTLE, ...rest.tuning },
  })
  return { files: fileSystem, skills, warnings, [Symbol.asyncDispose]: () => skills.close() }
}

const reportOf = (skills: SkillRuntime, name: string): [string, string[]] => {
  const report = skills.current.reports().find(each => each.name === name)
  return [report?.status ?? 'absent', report?.diagnostics.map(({ code }) => code) ?? []]
}

describe('the logger', () => {
  test(`the logger receives one warning for each broken skill, with the reason ${verifies('P07', 'PAI-X02', 'CRAB-X05')}`, async () => {
    const lines: string[] = []
    const warn = (message: string, data: Readonly<Record<string, unknown>> = {}): void =>
      void lines.push(`${message}: ${String(data['skill'])}: ${String(data['problem'])}`)
    const quiet = (): void => undefined
    const files = new MemoryFileSystem({
      '/skills/pdf/SKILL.md': text('pdf', 'Fine.'),
      '/skills/maps/SKILL.md': '---\nname: maps\n---\n',
    })
    await using it = await open(files, { logger: { debug: quiet, info: quiet, warn, error: warn } })
    await it.skills.delivered()
    expect(lines).toEqual([
      expect.stringMatching(/^a skill is broken and cannot be served: maps: .*description/),
    ])
    files.write('/skills/pdf/SKILL.md', '---\nname: pdf\n---\n')
    await it.skills.reload()
    await it.skills.reload()
    await it.skills.delivered()
    expect(lines.slice(1)).toEqual([
      expect.stringMatching(/^a skill is broken; its last good revision stays: pdf: .*description/),
    ])
  })
})

describe('onDuplicate', () => {
  const files = { '/a/pdf/SKILL.md': text('pdf', 'First.'), '/b/pdf/SKILL.md': text('pdf', 'Second.') }
  const folders = ['a', 'b']

  test(`onDuplicate is first-wins by default; removing the first skill emits skill:modified ${verifies('P01', 'EXO-B07')}`, async () => {
    const events = new InProcessEventBus()
    const told: string[] = []
    events.on('skill:modified', ({ newSkill, changed }) => {
      told.push(`modified ${newSkill.name} ${changed.join()}`)
    })
    events.on('skill:removed', ({ skill }) => void told.push(`removed ${skill.name}`))
    await using it = await open(files, { folders, events })
    expect(it.skills.current.get('pdf').description).toBe('First.')
    const shadowed = it.skills.current.reports().find(report => report.status === 'shadowed')
    expect(shadowed?.diagnostics[0]?.message).toMatch(/"b\/pdf" is shadowed by "a\/pdf"/)
    it.files.remove('/a/pdf')
    await it.skills.fresh()
    await it.skills.delivered()
    expect(it.skills.current.get('pdf').description).toBe('Second.')
    expect(told).toEqual(['modified pdf frontmatter,location'])
  })

  test(`onDuplicate can be last-wins or a function that chooses the skill ${verifies('P01')}`, async () => {
    await using last = await open(files, { folders, onDuplicate: 'last-wins' })
    expect(last.skills.current.get('pdf').description).toBe('Second.')
    await using chosen = await open(files, {
      folders,
      onDuplicate: candidates => candidates.toSorted((a, b) => (a.source > b.source ? -1 : 1))[0] as Skill,
    })
    expect(chosen.skills.current.get('pdf').source).toBe('b')
  })

  test('serves the first skill when the onDuplicate function throws or returns an unknown skill', async () => {
    for (const onDuplicate of [
      () => {
        throw new Error('no idea')
      },
      () => ({ name: 'pdf' }) as never,
    ]) {
      await using it = await open(files, { folders, onDuplicate })
      expect(it.skills.current.get('pdf').source).toBe('a')
      expect(it.warnings).toContain('onDuplicate failed; the first skill is served')
    }
  })

  test(`onDuplicate: error makes the start and reload() fail for duplicates, but the runtime still serves the first skill ${verifies('P01')}`, async () => {
    await expect(open(files, { folders, onDuplicate: 'error' })).rejects.toMatchObject({
      code: 'DUPLICATE_SKILL',
      message: expect.stringContaining('"b/pdf" is shadowed by "a/pdf"'),
    })
    await using it = await open(
      { '/a/pdf/SKILL.md': text('pdf', 'First.'), '/b/.keep': '' },
      { folders, onDuplicate: 'error' },
    )
    it.files.write('/b/pdf/SKILL.md', text('pdf', 'Second.'))
    await expect(it.skills.reload()).rejects.toMatchObject({ code: 'DUPLICATE_SKILL' })
    expect(it.skills.current.get('pdf').description).toBe('First.')
    it.files.remove('/b/pdf')
    expect((await it.skills.reload()).count).toBe(1)
  })

  test.each([
    ['refund', ['authoring/examples/refund'], 'is nearer to the root of the same source'],
    ['zebra', ['a/refund'], 'is nearer to the root of the same source'],
    ['refund', ['backup of refund'], 'is called like its skill in the same source'],
    ['refund', ['Refund'], 'is called like its skill in the same source'],
    ['tools/refund', ['tools/Refund', 'backup/x'], 'is called like its skill in the same source'],
    ['backup', ['copy'], 'comes first by path in the same source'],
  ])(
    `the folder %j is served, and each of the folders %j with the same name has a finding ${verifies('P02')}`,
    async (winner, losers, reason) => {
      const body = (location: string): string => text('refund', undefined, `From ${location}.`)
      const contents = [...losers, winner].map(location => [`/skills/${location}/SKILL.md`, body(location)])
      await using it = await open(Object.fromEntries(contents))
      expect(it.skills.current.get('refund').location).toBe(winner)
      const shadowed = it.skills.current.reports().filter(({ status }) => status === 'shadowed')
      expect(shadowed.map(({ location }) => location).sort()).toEqual(losers.toSorted())
      for (const { diagnostics } of shadowed)
        expect(diagnostics).toContainEqual(
          expect.objectContaining({ code: 'SKILL_SHADOWED', message: expect.stringContaining(reason) }),
        )
    },
  )

  test(`a second folder of one source has a finding even if its files are the same ${verifies('P02')}`, async () => {
    await using it = await open({
      '/skills/refund/SKILL.md': text('refund'),
      '/skills/backup of refund/SKILL.md': text('refund'),
    })
    const rows = it.skills.current.reports().map(({ location, status }) => [location, status])
    expect(rows).toEqual([
      ['refund', 'ok'],
      ['backup of refund', 'shadowed'],
    ])
  })

  test(`if two folders of a source contain the same skill name, the first path is served; SKILL.md is preferred to skill.md ${verifies('P02', 'FOX-B07', 'EXO-B10')}`, async () => {
    await using it = await open({
      '/skills/z/SKILL.md': text('pdf', 'Later path.'),
      '/skills/a/skill.md': text('pdf', 'Lower case.'),
      '/skills/a/SKILL.md': text('pdf', '"Quoted: value."'),
      '/skills/.git/hooks/SKILL.md': text('hook'),
      '/skills/node_modules/x/SKILL.md': text('module'),
    })
    expect(it.skills.current.list().map(({ name, description }) => `${name}: ${description}`)).toEqual([
      'pdf: Quoted: value.',
    ])
  })
})

describe('modifiedOn', () => {
  test(`modifiedOn decides which changed facets emit skill:modified, but reads always return the newest revision ${verifies('P03')}`, async () => {
    const events = new InProcessEventBus()
    const told: string[] = []
    events.on('skill:modified', ({ changed }) => void told.push(changed.join()))
    const modifiedOn = ['frontmatter', 'location'] as const
    await using it = await open({ '/skills/pdf/SKILL.md': text('pdf') }, { events, tuning: { modifiedOn } })
    it.files.write('/skills/pdf/SKILL.md', text('pdf', undefined, 'Newer.'))
    await it.skills.fresh()
    await it.skills.delivered()
    expect(told).toEqual([])
    expect((await it.skills.load('pdf')).body).toBe('Newer.')
    it.files.write('/skills/pdf/SKILL.md', text('pdf', 'Other.', 'Newer.'))
    await it.skills.fresh()
    await it.skills.delivered()
    expect(told).toEqual(['frontmatter'])
  })
})

describe('triggers', () => {
  test(`by default, each load and each fresh() reads the sources again; triggers can disable this ${verifies('P04')}`, async () => {
    const source = { watching: 'off' } as const
    await using it = await open({ '/skills/pdf/SKILL.md': text('pdf') }, { source })
    it.files.write('/skills/pdf/SKILL.md', text('pdf', undefined, 'Second.'))
    expect((await it.skills.load('pdf')).body).toBe('Second.')
    it.files.write('/skills/maps/SKILL.md', text('maps'))
    expect((await it.skills.fresh()).find('maps')).toBeDefined()

    const triggers = { onAccess: false, onRequest: false }
    await using manual = await open(it.files, { source, tuning: { triggers } })
    it.files.write('/skills/pdf/SKILL.md', text('pdf', undefined, 'Third.'))
    expect((await manual.skills.load('pdf')).body).toBe('Second.')
    expect((await (await manual.skills.fresh()).get('pdf')).revision).toBe(
      it.skills.current.get('pdf').revision,
    )
    await manual.skills.reload()
    expect((await manual.skills.load('pdf')).body).toBe('Third.')
  })
})

describe('a load', () => {
  test(`a load finds removed files, changed nested files and new text ${verifies('OMNI-B01', 'OMNI-B02', 'OMNI-B09')}`, async () => {
    await using it = await open(
      {
        '/skills/git/SKILL.md': text('git'),
        '/skills/git/scripts/a.ts': 'a',
        '/skills/git/scripts/deep/b.ts': 'b',
      },
      { source: { watching: 'off' } },
    )
    const load = async (): Promise<string[]> => {
      await it.skills.load('git')
      return it.skills.current.get('git').files.map(({ path, size }) => `${path} ${size}`)
    }
    const [skillFile] = await load()
    it.files.write('/skills/git/scripts/deep/b.ts', 'bb')
    expect(await load()).toEqual([skillFile, 'scripts/a.ts 1', 'scripts/deep/b.ts 2'])
    it.files.remove('/skills/git/scripts/a.ts')
    expect(await load()).toEqual([skillFile, 'scripts/deep/b.ts 2'])
    it.files.remove('/skills/git/scripts')
    expect(await load()).toEqual([skillFile])
    it.files.write('/skills/git/SKILL.md', text('git', undefined, 'Newest.'))
    expect((await it.skills.load('git')).body).toBe('Newest.')
  })
})

describe('onInvalid', () => {
  const broken = '---\nname: pdf\ndescription: "unclosed\n---\n'

  test(`onInvalid keeps the last good revision by default ${verifies('P07', 'PAI-B05')}`, async () => {
    await using it = await open({ '/skills/pdf/SKILL.md': text('pdf') })
    const { revision } = it.skills.current.get('pdf')
    it.files.write('/skills/pdf/SKILL.md', broken)
    await it.skills.fresh()
    expect(it.skills.current.get('pdf').revision).toBe(revision)
    expect(it.skills.catalog().text).toContain('Does pdf.')
    expect(reportOf(it.skills, 'pdf')).toEqual(['broken', ['YAML_INVALID']])
  })

  test(`onInvalid can drop a broken skill until it is valid again ${verifies('P07')}`, async () => {
    await using it = await open({ '/skills/pdf/SKILL.md': text('pdf') }, { onInvalid: 'drop' })
    it.files.write('/skills/pdf/SKILL.md', broken)
    await it.skills.fresh()
    expect(it.skills.current.find('pdf')).toBeUndefined()
    expect(reportOf(it.skills, 'pdf')).toEqual(['broken', ['YAML_INVALID']])
    it.files.write('/skills/pdf/SKILL.md', text('pdf'))
    expect((await it.skills.fresh()).find('pdf')).toBeDefined()
  })

  test(`onInvalid: throw makes the start and reload() fail, and keeps the last good revision ${verifies('P07')}`, async () => {
    await expect(open({ '/skills/pdf/SKILL.md': broken }, { onInvalid: 'throw' })).rejects.toMatchObject({
      code: 'SKILL_INVALID',
      message: expect.stringMatching(/skill "pdf": \/skills\/pdf\/SKILL\.md:3: /),
    })
    await using it = await open({ '/skills/pdf/SKILL.md': text('pdf') }, { onInvalid: 'throw' })
    it.files.write('/skills/pdf/SKILL.md', broken)
    await expect(it.skills.reload()).rejects.toMatchObject({ code: 'SKILL_INVALID' })
    expect(it.skills.current.find('pdf')).toBeDefined()
  })
})

describe('onMissing', () => {
  test(`a source waits by default for a root that does not exist yet or was removed ${verifies('P08', 'EXO-B09')}`, async () => {
    const clock = new FakeClock()
    const files = new MemoryFileSystem({ '/x': '' })
    await using it = await open(files, { clock, source: { clock } })
    expect(it.skills.current.list()).toEqual([])
    expect(it.skills.current.sources()[0]?.diagnostics[0]?.code).toBe('ROOT_MISSING')
    files.write('/skills/pdf/SKILL.md', text('pdf'))
    expect((await it.skills.fresh()).find('pdf')).toBeDefined()
    files.remove('/skills')
    expect((await it.skills.reload()).count).toBe(1)
    await clock.advance(ROOT_GRACE_MS + 1)
    expect(it.skills.current.list()).toEqual([])
  })

  test('a root that is missing at the start is reported once, and status() says so until it appears', async () => {
    const files = new MemoryFileSystem({ '/x': '' })
    const told: string[] = []
    const source = { onMissingRoot: (message: string) => void told.push(message) }
    await using it = await open(files, { source })
    await it.skills.reload()
    expect(it.skills.status()[0]).toMatchObject({ label: 'skills', isMissing: true })
    files.write('/skills/pdf/SKILL.md', text('pdf'))
    await it.skills.fresh()
    expect(it.skills.status()[0]?.isMissing).toBeUndefined()
    expect(told).toEqual([expect.stringMatching(/^the folder "\/skills" does not exist yet/)])
  })

  test(`onMissing can treat a missing root as an empty source or as an error ${verifies('P08')}`, async () => {
    await using it = await open({ '/skills/pdf/SKILL.md': text('pdf') }, { source: { onMissing: 'empty' } })
    it.files.remove('/skills')
    expect((await it.skills.reload()).removed).toEqual(['pdf'])

    const source = { onMissing: 'throw' } as const
    await expect(open({ '/x': '' }, { source })).rejects.toMatchObject({
      code: 'SOURCE_MISSING',
      message: 'the folder "/skills" does not exist; make it, or name another',
    })
    await using strict = await open({ '/skills/pdf/SKILL.md': text('pdf') }, { source })
    strict.files.remove('/skills')
    await expect(strict.skills.reload()).rejects.toMatchObject({ code: 'SOURCE_MISSING' })
    expect(strict.skills.current.find('pdf')).toBeDefined()
  })
})

describe('reading', () => {
  const files = {
    '/skills/PDF_Tools/SKILL.md': text('PDF_Tools'),
    '/skills/folder/SKILL.md': text('maps'),
    '/skills/bare/SKILL.md': '---\nname: bare\n---\nSome text.\n\n## The heading ##\n',
    '/skills/plain/SKILL.md': 'Only text.\n',
    '/skills/short/SKILL.md': '---\nname: short\ndesc: The short spelling.\n---\n',
  }

  test(`reading is lenient by default: an invalid name is a warning, but a missing description is an error ${verifies('P09', 'P10', 'P11')}`, async () => {
    await using it = await open(files)
    expect(it.skills.current.list().map(({ name }) => name)).toEqual(['PDF_Tools', 'maps', 'short'])
    expect(reportOf(it.skills, 'PDF_Tools')).toEqual(['warning', ['NAME_INVALID', 'NAME_INVALID']])
    expect(reportOf(it.skills, 'maps')).toEqual(['warning', ['NAME_DIRECTORY_MISMATCH']])
    expect(reportOf(it.skills, 'bare')[0]).toBe('broken')
    expect(it.skills.current.get('short').description).toBe('The short spelling.')
    expect(reportOf(it.skills, 'short')).toEqual(['warning', ['FIELD_ALIAS', 'BODY_EMPTY']])
  })

  test(`reading.names can refuse all invalid names, or accept any safe name ${verifies('P09', 'P10')}`, async () => {
    await using strict = await open(files, {
      source: { reading: { names: 'strict', matchDirectory: 'error' } },
    })
    expect(strict.skills.current.list().map(({ name }) => name)).toEqual(['short'])
    await using any = await open(files, { source: { reading: { names: 'any', matchDirectory: 'off' } } })
    expect(reportOf(any.skills, 'PDF_Tools')).toEqual(['ok', []])
    expect(reportOf(any.skills, 'maps')).toEqual(['ok', []])
    await using unsafe = await open(
      { '/skills/x/SKILL.md': text('"../x"') },
      { source: { reading: { names: 'any' } } },
    )
    expect(unsafe.skills.current.list()).toEqual([])
  })

  test(`reading.description can replace a missing description with an empty text or the first heading ${verifies('P11', 'FOX-X02', 'EXO-X03')}`, async () => {
    const describeAll = (skills: SkillRuntime): string[] =>
      ['bare', 'plain'].map(name => skills.current.get(name).description)
    await using empty = await open(files, { source: { reading: { description: 'empty' } } })
    expect(describeAll(empty.skills)).toEqual(['', ''])
    await using heading = await open(files, { source: { reading: { description: 'first-heading' } } })
    expect(describeAll(heading.skills)).toEqual(['The heading', 'Only text.'])
    expect((await heading.skills.load('plain')).body).toBe('Only text.')
  })

  test('after a restart, the reading rules of the source also apply to the last good revision', async () => {
    const { MemorySkillStore } = await import('../store/memory-skill-store.ts')
    const store = Object.assign(new MemorySkillStore(), { close: async () => undefined })
    const fileSystem = new MemoryFileSystem({ '/skills/plain/SKILL.md': 'Only text.\n' })
    const source = { reading: { description: 'first-heading' } } as const
    const first = await open(fileSystem, { source, state: { store } })
    await first.skills.close()
    fileSystem.write('/skills/plain/SKILL.md', '---\nname: "x\n---\n')
    await using second = await open(fileSystem, { source, state: { store } })
    expect(second.skills.current.get('plain').description).toBe('Only text.')
  })
})

describe('layout', () => {
  test(`layout can ignore a root skill, and change the names of skill files and skipped folders ${verifies('P12', 'OMNI-X06')}`, async () => {
    const files = {
      '/skills/SKILL.md': text('skills'),
      '/skills/a/AGENT.md': text('a'),
      '/skills/_private/SKILL.md': text('_private'),
      '/skills/b/_inner/SKILL.md': text('_inner'),
      '/skills/vendor/c/SKILL.md': text('c'),
    }
    const namesOf = ({ skills }: Harness): string[] => skills.current.list().map(({ name }) => name)
    await using standard = await open(files)
    expect(namesOf(standard)).toEqual(['_inner', 'c', 'skills'])
    await using other = await open(files, {
      source: {
        layout: { rootSkill: false, fileNames: ['SKILL.md', 'AGENT.md'], skip: ['vendor'] },
      },
    })
    expect(namesOf(other)).toEqual(['_inner', '_private', 'a'])
  })

  test(`layout can accept single Markdown files as skills, and changes of these files go live ${verifies('P12', 'FOX-X02')}`, async () => {
    await using it = await open(
      {
        '/skills/notes.md': text('notes'),
        '/skills/README.md': text('readme'),
        '/skills/pdf/SKILL.md': text('pdf'),
        '/skills/pdf/extra.md': text('extra'),
      },
      { source: { layout: { standaloneFiles: true } } },
    )
    const names = (): string[] => it.skills.current.list().map(({ name }) => name)
    expect(names()).toEqual(['notes', 'pdf'])
    const notes = it.skills.current.get('notes')
    expect(notes).toMatchObject({ location: 'notes.md', skillFile: 'notes.md', diagnostics: [] })
    expect(notes.files.map(({ path }) => path)).toEqual(['notes.md'])

    it.files.write('/skills/notes.md', text('notes', 'Newer.'))
    expect((await it.skills.fresh()).get('notes').description).toBe('Newer.')
    it.files.write('/skills/notes.md', '---\nname: "x\n---\n')
    expect((await it.skills.fresh()).get('notes').description).toBe('Newer.')
    it.files.remove('/skills/notes.md')
    it.files.write('/skills/maps.md', text('maps'))
    expect((await it.skills.fresh()).list().map(({ name }) => name)).toEqual(['maps', 'pdf'])
    it.files.remove('/skills/maps.md')
    it.files.write('/skills/maps.md/SKILL.md', text('maps'))
    await it.skills.fresh()
    expect(it.skills.current.get('maps').skillFile).toBe('SKILL.md')
    it.files.write('/skills/pdf.md', text('single'))
    it.files.write('/skills/SKILL.md', text('root'))
    await it.skills.reload()
    expect(names()).toEqual(['maps', 'pdf', 'root'])
  })
})

describe('catalog.format', () => {
  const files = {
    '/skills/pdf/SKILL.md': text('pdf', '"Reads </skill> & more."'),
    '/skills/b/SKILL.md': text('b'),
  }
  const render = async (catalog: CatalogOptions): Promise<string> => {
    await using it = await open(files, { catalog })
    return it.skills.catalog().text
  }

  test(`catalog.format is the XML of agentskills.io by default, with escaped values ${verifies('P15', 'PAI-B03')}`, async () => {
    const toXml = (...locations: readonly string[]): string =>
      [
        '<available_skills>',
        `<skill>\n<name>b</name>\n<description>Does b.</description>\n${locations[0] ?? ''}</skill>`,
        `<skill>\n<name>pdf</name>\n<description>Reads &lt;/skill&gt; &amp; more.</description>\n${locations[1] ?? ''}</skill>`,
        '</available_skills>',
      ].join('\n')
    expect(await render({})).toBe(toXml())
    expect(await render({ format: 'agentskills-xml' })).toBe(
      toXml('<location>skill://b/SKILL.md</location>\n', '<location>skill://pdf/SKILL.md</location>\n'),
    )
  })

  test(`the format pai-xml is byte for byte equal to the catalog of pai ${verifies('P15', 'PAI-16', 'PAI-X04')}`, async () => {
    expect(await render({ format: 'pai-xml' })).toBe(`<available-skills>
<skill name="b">
  <description>Does b.</description>
  <path>skill://b</path>
</skill>
<skill name="pdf">
  <description>Reads &lt;/skill&gt; &amp; more.</description>
  <path>skill://pdf</path>
</skill>
</available-skills>

<skill-usage-instructions>
When a user request matches a skill's description:
1. Read the skill's SKILL.md file to get detailed instructions
2. Follow the skill's guidelines to complete the task
3. Use available file and shell tools to execute the skill's instructions
</skill-usage-instructions>`)
  })

  test(`catalog.format can be Markdown, a function, or none ${verifies('P15', 'EXO-X07')}`, async () => {
    expect(await render({ format: 'markdown' })).toBe(
      '## Available Skills\n- **b**: Does b.\n- **pdf**: Reads &lt;/skill&gt; &amp; more.',
    )
    expect(await render({ format: skills => skills.map(({ name }) => name).join() })).toBe('b,pdf')
    expect(await render({ format: 'none' })).toBe('')
  })

  test('every catalog format shows how many skills did not fit', async () => {
    for (const format of CATALOG_FORMAT_NAMES.filter(name => name !== 'none')) {
      await using it = await open(files, { catalog: { format, maxTokens: 10 } })
      const { listed, omitted, text: shown } = it.skills.catalog()
      expect([listed, omitted]).toEqual([[], ['b', 'pdf']])
      expect(shown).toMatch(/count="2"|and 2 more/)
    }
  })
})

describe('reload()', () => {
  test(`reload() reports every change and error since the last read, and no changes when called again ${verifies('P21', 'FOX-B01')}`, async () => {
    const events = new InProcessEventBus()
    const told: unknown[] = []
    events.on('skills:reloaded', event => void told.push(event))
    const files = { '/skills/pdf/SKILL.md': text('pdf'), '/skills/maps/SKILL.md': text('maps') }
    await using it = await open(files, { events, source: { watching: 'off' } })
    it.files.write('/skills/pdf/SKILL.md', text('pdf', 'Other.'))
    it.files.write('/skills/new/SKILL.md', text('new'))
    it.files.write('/skills/bad/SKILL.md', '---\nname: "x\n---\n')
    it.files.remove('/skills/maps')
    const report = await it.skills.reload()
    expect(report).toMatchObject({ count: 2, added: ['new'], modified: ['pdf'], removed: ['maps'] })
    expect(report.errors).toEqual([
      { source: 'skills', skill: 'bad', message: expect.stringMatching(/^\/skills\/bad\/SKILL\.md:2: /) },
    ])
    expect(told).toMatchObject([{ count: 2, added: ['new'], generation: report.generation.number }])
    const again = await it.skills.reload()
    expect(again).toMatchObject({ count: 2, added: [], modified: [], removed: [] })
    expect(again.generation).toBe(again.previous)
  })

  test(`reloadSkill() reports whether the skill was reloaded, is new, is missing or failed ${verifies('P21', 'OMNI-X15')}`, async () => {
    const source = { watching: 'off' } as const
    await using it = await open({ '/skills/pdf/SKILL.md': text('pdf') }, { source })
    const reload = async (name: string): Promise<[string, boolean]> => {
      const { status, isChanged } = await it.skills.reloadSkill(name)
      return [status, isChanged]
    }
    expect(await reload('pdf')).toEqual(['reloaded', false])
    it.files.write('/skills/pdf/SKILL.md', text('pdf', 'Other.'))
    expect(await reload('pdf')).toEqual(['reloaded', true])
    it.files.write('/skills/new/SKILL.md', text('new'))
    expect(await reload('new')).toEqual(['loaded', true])
    expect(await reload('unknown')).toEqual(['not-found', false])
    it.files.write('/skills/pdf/SKILL.md', '---\nname: "x\n---\n')
    expect(await reload('pdf')).toEqual(['failed', false])
    it.files.remove('/skills/pdf')
    expect(await reload('pdf')).toEqual(['not-found', true])
  })
})

describe('preScan', () => {
  test(`the preScan hook runs before the start, reload() and fresh(), which then find files that the hook wrote ${verifies('P31', 'PAI-10')}`, async () => {
    const files = new MemoryFileSystem({ '/skills/.keep': '' })
    const reasons: string[] = []
    const preScan = async ({ reason }: { reason: string }): Promise<void> => {
      await Promise.resolve()
      reasons.push(reason)
      files.write(`/skills/${reason}/SKILL.md`, text(reason))
    }
    await using it = await open(files, { preScan, source: { watching: 'off' } })
    await it.skills.fresh()
    await it.skills.reload()
    expect(reasons).toEqual(['start', 'request', 'reload'])
    expect(it.skills.current.list().map(({ name }) => name)).toEqual(['reload', 'request', 'start'])
    await using synchronous = await open(files, {
      preScan: () => files.write('/skills/sync/SKILL.md', text('sync')),
    })
    expect(synchronous.skills.current.find('sync')).toBeDefined()
  })

  test(`the preScan hook runs once for several concurrent requests ${verifies('P31')}`, async () => {
    let runs = 0
    const gate = Promise.withResolvers<void>()
    const preScan = async (): Promise<void> => {
      if (++runs > 1) await gate.promise
    }
    await using it = await open({ '/skills/.keep': '' }, { preScan, source: { watching: 'off' } })
    const requests = Promise.all([it.skills.fresh(), it.skills.fresh(), it.skills.reload()])
    gate.resolve()
    await requests
    expect(runs).toBe(2)
  })

  test(`a preScan hook that fails or hangs causes a warning; with onError: throw, it causes an error ${verifies('P31', 'PAI-B06')}`, async () => {
    const files = { '/skills/pdf/SKILL.md': text('pdf') }
    const fail = (): void => {
      throw new Error('no network')
    }
    await using it = await open(files, { preScan: fail })
    expect(it.skills.current.find('pdf')).toBeDefined()
    expect(it.warnings).toContain('the pre-scan hook failed; the scan continues')
    await expect(open(files, { preScan: { hook: fail, onError: 'throw' } })).rejects.toMatchObject({
      code: 'HOOK_FAILED',
      message: 'the pre-scan hook failed: no network',
    })

    const clock = new FakeClock()
    let signal: AbortSignal | undefined
    const hang = async (context: { signal: AbortSignal }): Promise<void> => {
      signal = context.signal
      await new Promise(() => undefined)
    }
    const opening = open(files, { clock, preScan: { hook: hang, timeoutMs: 100 }, source: { clock } })
    await clock.advance(101)
    await using slow = await opening
    expect(signal?.aborted).toBe(true)
    expect(slow.skills.current.find('pdf')).toBeDefined()
    await slow.skills.reload()
    expect(slow.warnings).toContain('the pre-scan hook is still running; the scan continues without it')
  })
})

test(`the skill tool works the same under any name that the host chooses ${verifies('P17', 'EXO-X07', 'CRAB-X09')}`, async () => {
  await using it = await open({ '/skills/pdf/SKILL.md': text('pdf'), '/skills/maps/SKILL.md': text('maps') })
  const [skill] = it.skills.session({ id: 'a' }).tools
  const [activate, readFile] = it.skills.session({ id: 'b', skillToolName: 'activate_skill' }).tools
  expect([skill?.name, activate?.name, readFile?.name]).toEqual([
    'skill',
    'activate_skill',
    'read_skill_file',
  ])
  expect(activate?.inputSchema).toEqual(skill?.inputSchema)
  for (const input of [{ name: 'pdf' }, { name: 'maps' }, { name: '' }])
    expect(await activate?.execute(input)).toEqual(await skill?.execute(input))
  expect((await activate?.execute({ name: 'xyz' }))?.text).toBe(
    'no skill "xyz"; call activate_skill with an empty name to list the 2 available',
  )
  expect(it.skills.tools({ skillToolName: 'load' }).map(({ name }) => name)).toEqual([
    'load',
    'read_skill_file',
  ])
})
