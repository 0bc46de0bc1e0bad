import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSkillRuntime, renderSkillText, type SkillRuntime } from '@skillstoke/core'
import { directory, openSkillStore } from '@skillstoke/core/node'
import type { SkillSource } from '@skillstoke/core/source'
import { type SourceSubject, sourceConformance } from '@skillstoke/core/testing'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type PackedEntry, tarGz, zip } from '../../../tests/fixtures/archives.ts'
import { type Fault, FaultProxy } from '../../../tests/fixtures/fault-proxy.ts'
import type { GitRepository } from '../../../tests/fixtures/git-repository.ts'
import { GitServer } from '../../../tests/fixtures/git-server.ts'
import { archive, git, wellKnown } from './index.ts'

let site: Site
let folder: string

/** A site on loopback with configurable pages. */
class Site implements AsyncDisposable {
  readonly pages = new Map<string, Buffer | string>()
  readonly requests: string[] = []
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined
  readonly #server = createServer((request, response) => this.#serve(request, response))

  async start(): Promise<this> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
    return this
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get host(): string {
    return `127.0.0.1:${this.port}`
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    this.requests.push(request.url ?? '')
    if (this.intercept?.(request, response) === true) return
    const page = this.pages.get(request.url ?? '')
    if (page === undefined) response.writeHead(404).end()
    else response.writeHead(200, { ETag: `"${sha256(page)}"`, Connection: 'close' }).end(page)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }
}

beforeAll(async () => {
  site = await new Site().start()
})

afterAll(async () => {
  await site[Symbol.asyncDispose]()
})

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'remote-'))
  site.pages.clear()
  site.requests.length = 0
  site.intercept = undefined
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

const sha256 = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex')
const text = (name: string, body = 'Body.'): string =>
  renderSkillText({ name, description: 'Does it.', body })
const names = (skills: SkillRuntime): string[] => skills.current.list().map(({ name }) => name)
const told = (skills: SkillRuntime): string[] =>
  (skills.current.sources()[0]?.diagnostics ?? []).map(({ message }) => message)
const errorOf = (skills: SkillRuntime): string | undefined => skills.status()[0]?.lastError

async function open(...sources: SkillSource[]): Promise<SkillRuntime> {
  return await createSkillRuntime({ sources })
}

/** Creates a conformance subject. After each change of a file, the subject publishes all its files again. */
function publishing(
  source: SkillSource,
  publish: (files: ReadonlyMap<string, string>) => void,
): SourceSubject {
  const files = new Map<string, string>([['README.md', 'Skills.']])
  publish(files)
  return {
    source,
    put: (path, content) => {
      files.set(path, content)
      publish(files)
    },
    remove: name => {
      for (const path of files.keys()) if (path.startsWith(`${name}/`)) files.delete(path)
      publish(files)
    },
  }
}

const toEntries = (files: ReadonlyMap<string, string>): PackedEntry[] =>
  [...files].map(([path, content]) => ({ path, content }))

/** Packs every folder as an archive, and publishes an index with one skill per archive. */
function publishIndex(files: ReadonlyMap<string, string>): void {
  const folders = new Set(
    [...files.keys()].filter(path => path.includes('/')).map(path => path.split('/')[0] as string),
  )
  const skills = [...folders].map(name => {
    const inside = [...files].flatMap(([path, content]) =>
      path.startsWith(`${name}/`) ? [{ path: path.slice(name.length + 1), content }] : [],
    )
    const bytes = tarGz(inside)
    site.pages.set(`/packed/${name}.tar.gz`, bytes)
    return {
      name,
      type: 'archive',
      description: 'x',
      url: `/packed/${name}.tar.gz`,
      digest: `sha256:${sha256(bytes)}`,
    }
  })
  site.pages.set('/.well-known/agent-skills/index.json', JSON.stringify({ skills }))
}

const options = { trust: 'auto', pollMs: 3_600_000 } as const
const onSite = () => ({ ...options, privateHosts: [site.host] })

const SUBJECTS: readonly (readonly [string, () => SourceSubject])[] = [
  [
    'an archive on the disk',
    () => {
      const path = join(folder, 'skills.zip')
      return publishing(archive(path, { ...options, label: 'x' }), files =>
        writeFileSync(path, zip(toEntries(files))),
      )
    },
  ],
  [
    'an archive on a site',
    () =>
      publishing(archive(`http://${site.host}/skills.tar.gz`, onSite()), files =>
        site.pages.set('/skills.tar.gz', tarGz(toEntries(files))),
      ),
  ],
  ['a site with an index', () => publishing(wellKnown(`http://${site.host}/`, onSite()), publishIndex)],
]

for (const [name, create] of SUBJECTS)
  for (const each of sourceConformance)
    test(`${name}: ${each.name}`, async () => {
      const subject = create()
      try {
        await each.check(subject)
      } finally {
        await subject.source.close?.()
      }
    })

describe('archive', () => {
  test('reads only the given folder of an archive, and accepts a label and a digest', async () => {
    const bytes = tarGz([
      { path: 'repo-main/skills/pdf/SKILL.md', content: text('pdf') },
      { path: 'repo-main/other/x/SKILL.md', content: text('x') },
    ])
    site.pages.set('/a.tgz', bytes)
    const url = `http://${site.host}/a.tgz`
    await using skills = await open(
      archive(url, {
        ...onSite(),
        path: 'repo-main/skills',
        label: 'team',
        digest: `sha256:${sha256(bytes)}`,
      }),
    )
    expect(skills.current.list().map(({ name, location, source }) => [name, location, source])).toEqual([
      ['pdf', 'pdf', 'team'],
    ])
    site.pages.set(
      '/a.tgz',
      tarGz([{ path: 'repo-main/skills/pdf/SKILL.md', content: text('pdf', 'Swapped.') }]),
    )
    await skills.reload()
    expect([names(skills), errorOf(skills)]).toEqual([
      ['pdf'],
      expect.stringMatching(/has the digest sha256:.*; expected sha256:/),
    ])
  })

  test('does not download an unchanged archive again, and serves its skills after a restart even if the site is gone', async () => {
    site.pages.set('/a.zip', zip([{ path: 'pdf/SKILL.md', content: text('pdf') }]))
    const create = (): SkillSource => archive(`http://${site.host}/a.zip`, onSite())
    const answers: number[] = []
    site.intercept = (request, response) => {
      const etag = `"${sha256(site.pages.get('/a.zip') ?? '')}"`
      answers.push(request.headers['if-none-match'] === etag ? 304 : 200)
      if (answers.at(-1) === 200) return false
      response.writeHead(304).end()
      return true
    }
    {
      await using skills = await createSkillRuntime({
        sources: [create()],
        state: { store: await openSkillStore(folder) },
      })
      await skills.reload()
      expect([names(skills), answers]).toEqual([['pdf'], [200, 304]])
    }
    site.intercept = (_, response) => {
      response.writeHead(503).end()
      return true
    }
    await using skills = await createSkillRuntime({
      sources: [create()],
      state: { store: await openSkillStore(folder) },
    })
    expect(names(skills)).toEqual(['pdf'])
    await skills.reload()
    expect([names(skills), errorOf(skills)]).toEqual([['pdf'], expect.stringContaining('answers with 503')])
  })

  test('T26: ignores a hostile archive, and reports links in a valid archive', async () => {
    const path = join(folder, 'a.tar.gz')
    const good: PackedEntry[] = [
      { path: 'pdf/SKILL.md', content: text('pdf') },
      { path: 'pdf/passwd', type: 'symlink', target: '/etc/passwd' },
    ]
    writeFileSync(path, tarGz(good))
    await using skills = await open(archive(path, options))
    expect(skills.current.get('pdf').files.map(file => file.path)).toEqual(['SKILL.md'])
    expect(skills.current.reports()[0]?.diagnostics.map(({ code }) => code)).toEqual(['LINK_REFUSED'])
    writeFileSync(path, tarGz([{ path: '../evil/SKILL.md', content: text('evil') }, ...good]))
    await skills.reload()
    expect([names(skills), errorOf(skills)]).toEqual([
      ['pdf'],
      expect.stringContaining('which leads out of it'),
    ])
  })

  test('reports a missing archive, a folder in place of an archive, and an invalid digest', async () => {
    await using missing = await open(archive(join(folder, 'no.zip'), options))
    expect(errorOf(missing)).toMatch(/cannot be read: ENOENT/)
    await using aFolder = await open(archive(folder, options))
    expect(errorOf(aFolder)).toMatch(/is not a file/)
    expect(() => archive('a.zip', { digest: 'md5:1' })).toThrow(/use "sha256:" and 64/)
    expect(() => archive(' ')).toThrow(/path of the archive is empty/)
  })
})

test('even if polled only on request, a source reads a local archive at the start and reports its faults', async () => {
  const path = join(folder, 'a.zip')
  const put = (body: string): void =>
    writeFileSync(path, zip([{ path: 'pdf/SKILL.md', content: text('pdf', body) }]))
  const look = async (times = 0): Promise<readonly [string, readonly string[]]> => {
    const store = await openSkillStore(join(folder, 'state'))
    await using skills = await createSkillRuntime({
      sources: [archive(path, { trust: 'auto', polling: 'manual', label: 'a' })],
      state: { store },
    })
    for (let i = 0; i < times; i++) await skills.reload()
    const [source] = skills.current.sources()
    return [(await skills.load('pdf')).body, source?.diagnostics.map(({ message }) => message) ?? []]
  }
  put('First.')
  expect(await look()).toEqual(['First.', []])
  put('Second.')
  expect(await look()).toEqual(['Second.', []])
  writeFileSync(path, 'garbage')
  expect(await look()).toEqual([
    'Second.',
    [expect.stringMatching(/could not be read: the file is neither a zip .*; its last contents stay/)],
  ])
  expect((await look(2))[1]).toHaveLength(1)
})

describe('wellKnown', () => {
  const publish = (skills: readonly unknown[]): void =>
    void site.pages.set('/.well-known/agent-skills/index.json', JSON.stringify({ skills }))
  const page = (path: string, content: string): { url: string; digest: string } => {
    site.pages.set(path, content)
    return { url: path, digest: `sha256:${sha256(content)}` }
  }

  test('fetches texts and archives by digest, and fetches them again only after a change', async () => {
    const bytes = zip([
      { path: 'SKILL.md', content: text('docx') },
      { path: 'scripts/run.sh', content: 'x', mode: 0o755 },
    ])
    site.pages.set('/docx.zip', bytes)
    const docx = { name: 'docx', type: 'archive', url: '/docx.zip', digest: `sha256:${sha256(bytes)}` }
    publish([{ name: 'pdf', type: 'skill-md', ...page('/pdf/SKILL.md', text('pdf')) }, docx])
    await using skills = await open(wellKnown(`http://${site.host}`, onSite()))
    expect(names(skills)).toEqual(['docx', 'pdf'])
    expect(skills.current.get('docx').files.map(({ path, isExecutable }) => [path, isExecutable])).toEqual([
      ['SKILL.md', false],
      ['scripts/run.sh', true],
    ])
    site.requests.length = 0
    publish([{ name: 'pdf', type: 'skill-md', ...page('/pdf/SKILL.md', text('pdf', 'Newer.')) }, docx])
    await skills.reload()
    expect(site.requests).toEqual(['/.well-known/agent-skills/index.json', '/pdf/SKILL.md'])
    expect((await skills.load('pdf')).body).toBe('Newer.')
  })

  test('T30: content with a matching digest still waits for approval, because a digest does not prove the author', async () => {
    publish([{ name: 'pdf', type: 'skill-md', ...page('/pdf.md', text('pdf')) }])
    await using skills = await open(wellKnown(`http://${site.host}`, { privateHosts: [site.host] }))
    expect(names(skills)).toEqual([])
    const [report] = skills.review.pending()
    expect(report?.diagnostics.at(-1)?.message).toMatch(
      /the source is reviewed and this revision is not approved/,
    )
    expect(JSON.stringify([report, skills.status()])).not.toMatch(/verified|publisher|trusted/i)
  })

  test.each([
    [
      'as text files',
      (name: string) => ({ name, type: 'skill-md', ...page(`/${name}.md`, text(name, 'x'.repeat(500))) }),
    ],
    [
      'as small archives',
      (name: string) => {
        const bytes = zip([{ path: 'SKILL.md', content: text(name, 'x'.repeat(500)) }])
        site.pages.set(`/${name}.zip`, bytes)
        return { name, type: 'archive', url: `/${name}.zip`, digest: `sha256:${sha256(bytes)}` }
      },
    ],
    [
      'in the older format',
      (name: string) => {
        site.pages.set(`/.well-known/agent-skills/${name}/SKILL.md`, text(name, 'x'.repeat(500)))
        return { name, files: ['SKILL.md'] }
      },
    ],
  ])(
    'T26: refuses a site whose skills %s exceed the limit together, and keeps the earlier ones',
    async (_, make) => {
      publish([make('a')])
      await using skills = await open(wellKnown(`http://${site.host}`, { ...onSite(), maxBytes: 1_000 }))
      expect(names(skills)).toEqual(['a'])
      publish([make('a'), make('b')])
      await skills.reload()
      expect([names(skills), errorOf(skills)]).toEqual([
        ['a'],
        expect.stringMatching(/have more than 1000 bytes together; raise maxBytes/),
      ])
    },
  )

  test('reads an index in the older format, which lists the files of each skill', async () => {
    site.pages.set(
      '/.well-known/skills/index.json',
      JSON.stringify({ skills: [{ name: 'pdf', description: 'x', files: ['SKILL.md', 'references/a.md'] }] }),
    )
    site.pages.set('/.well-known/skills/pdf/SKILL.md', text('pdf'))
    site.pages.set('/.well-known/skills/pdf/references/a.md', 'A.')
    await using skills = await open(wellKnown(`http://${site.host}`, onSite()))
    expect(skills.current.get('pdf').files.map(({ path }) => path)).toEqual(['SKILL.md', 'references/a.md'])
  })

  test('refuses content with a wrong digest, still serves the previous revision of the skill, and updates all other skills', async () => {
    publish([
      { name: 'pdf', type: 'skill-md', ...page('/pdf.md', text('pdf', 'First.')) },
      { name: 'docx', type: 'skill-md', ...page('/docx.md', text('docx', 'First.')) },
    ])
    await using skills = await open(wellKnown(`http://${site.host}`, onSite()))
    publish([
      { name: 'pdf', type: 'skill-md', url: '/pdf.md', digest: `sha256:${'0'.repeat(64)}` },
      { name: 'docx', type: 'skill-md', ...page('/docx.md', text('docx', 'Second.')) },
    ])
    await skills.reload()
    expect([(await skills.load('pdf')).body, (await skills.load('docx')).body]).toEqual(['First.', 'Second.'])
    expect(told(skills)).toEqual([
      expect.stringMatching(
        /^pdf: the download is sha256:.*; the index says sha256:0+; the entry keeps its last state$/,
      ),
    ])
  })

  test.each([
    [{ name: '../evil', type: 'skill-md', url: '/x', digest: `sha256:${'0'.repeat(64)}` }, /a valid skill/],
    [{ name: 'x', type: 'exe', url: '/x', digest: `sha256:${'0'.repeat(64)}` }, /has the type "exe"/],
    [{ name: 'x', type: 'skill-md', url: '/x' }, /has the digest undefined/],
    [
      { name: 'x', type: 'skill-md', url: 'https://169.254.169.254/', digest: `sha256:${'0'.repeat(64)}` },
      /private network/,
    ],
    [{ name: 'x', files: ['SKILL.md', '../../up'] }, /which is not a path inside its folder/],
    [{ name: 'x', files: ['a.md'] }, /has no SKILL.md/],
    ['x', /is not an object/],
  ])('T27: reports and leaves out the entry %j, and reads the others', async (entry, message) => {
    publish([entry, { name: 'pdf', type: 'skill-md', ...page('/pdf.md', text('pdf')) }])
    await using skills = await open(wellKnown(`http://${site.host}`, onSite()))
    expect(names(skills)).toEqual(['pdf'])
    expect(told(skills)).toEqual([expect.stringMatching(message)])
    expect(told(skills)[0]).toMatch(/; the entry is left out$/)
  })

  test.each([
    ['{', /is not valid JSON/],
    ['{}', /has no list "skills"/],
    [JSON.stringify({ skills: Array.from({ length: 2001 }, () => 0) }), /at most 2000 are read/],
  ])('refuses %s as an index', async (content, message) => {
    site.pages.set('/.well-known/agent-skills/index.json', content)
    await using skills = await open(wellKnown(`http://${site.host}`, onSite()))
    expect(errorOf(skills)).toMatch(message)
  })

  test('reports a site without an index', async () => {
    await using skills = await open(wellKnown(`http://${site.host}`, onSite()))
    expect(errorOf(skills)).toMatch(/agent-skills\/index.json answers with 404/)
    expect(() => wellKnown('nonsense')).toThrow(/use for example/)
  })
})

describe('if the network fails, the skills are still served, other sources are not delayed, and the source recovers without a restart', () => {
  const FAULTS: readonly Fault[] = ['refuse', 'reset', 'stall', 'truncate', 'slow', 'garbage']
  const remote = { trust: 'auto', timeoutMs: 2_000, pollMs: 100 } as const

  /** For each kind of source, creates a source behind a proxy and a function that changes the content of the source. */
  const kinds = {
    archive: async () => {
      const put = (body: string): void =>
        void site.pages.set('/a.zip', zip([{ path: 'pdf/SKILL.md', content: text('pdf', body) }]))
      const proxy = await FaultProxy.start(site.port)
      const source = archive(`http://${proxy.host}/a.zip`, { ...remote, privateHosts: [proxy.host] })
      return { put, proxy, source, end: async () => undefined }
    },
    'well-known': async () => {
      const put = (body: string): void => publishIndex(new Map([['pdf/SKILL.md', text('pdf', body)]]))
      const proxy = await FaultProxy.start(site.port)
      const source = wellKnown(`http://${proxy.host}`, { ...remote, privateHosts: [proxy.host] })
      return { put, proxy, source, end: async () => undefined }
    },
    git: async () => {
      const server = await GitServer.start()
      const repository: GitRepository = server.create('skills')
      const put = (body: string): void => void repository.commit({ 'pdf/SKILL.md': text('pdf', body) })
      const proxy = await FaultProxy.start(Number(server.host.split(':')[1]))
      const url = `http://${proxy.host}/skills.git`
      const source = git(url, {
        ...remote,
        stateDirectory: join(folder, 'state'),
        privateHosts: [proxy.host],
      })
      return { put, proxy, source, end: async () => await server[Symbol.asyncDispose]() }
    },
  }

  test.each(Object.keys(kinds).flatMap(kind => FAULTS.map(fault => [kind, fault] as const)))(
    '%s, %s',
    async (kind, fault) => {
      const { put, proxy, source, end } = await kinds[kind as keyof typeof kinds]()
      put('First.')
      const own = join(folder, 'own')
      {
        await using skills = await open(source, directory(own))
        await seen(skills, generation => generation.find('pdf') !== undefined)
        proxy.fault = fault
        put('Second.')
        const failed = skills.reload()
        writeOwn(own)
        await seen(skills, generation => generation.find('mine') !== undefined)
        await failed
        expect(names(skills)).toEqual(['mine', 'pdf'])
        expect((await skills.load('pdf')).body).toBe('First.')
        expect(skills.status()[0]).toMatchObject({
          failures: expect.any(Number),
          lastError: expect.any(String),
        })
        proxy.fault = 'none'
        await seen(skills, (_, status) => status[0]?.lastError === undefined)
        expect((await skills.load('pdf')).body).toBe('Second.')
      }
      await proxy[Symbol.asyncDispose]()
      await end()
    },
  )

  test.each(['archive', 'well-known'] as const)('%s, redirect loop', async kind => {
    const { put, proxy, source } = await kinds[kind]()
    put('First.')
    {
      await using skills = await open(source)
      site.intercept = (request, response) => {
        response.writeHead(302, { Location: request.url ?? '/' }).end()
        return true
      }
      await skills.reload()
      expect([names(skills), errorOf(skills)]).toEqual([
        ['pdf'],
        expect.stringMatching(/more than 5 redirects/),
      ])
    }
    await proxy[Symbol.asyncDispose]()
  })
})

function writeOwn(root: string): void {
  rmSync(root, { recursive: true, force: true })
  const source = join(root, 'mine')
  mkdirSync(source, { recursive: true })
  writeFileSync(join(source, 'SKILL.md'), text('mine'))
}

/** Resolves as soon as `isWanted` returns true for the current generation and status. */
async function seen(
  skills: SkillRuntime,
  isWanted: (generation: SkillRuntime['current'], status: ReturnType<SkillRuntime['status']>) => boolean,
): Promise<void> {
  for await (const generation of skills.watch(AbortSignal.timeout(20_000)))
    if (isWanted(generation, skills.status())) return
  throw new Error('the condition was not met within 20 seconds')
}
