import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills'
import {
  createSkillRuntime,
  MemorySource,
  renderSkillText,
  type SkillReport,
  type SkillRuntime,
  type SkillSession,
} from '@skillstoke/core'
import { openState } from '@skillstoke/core/node'
import { FileSource, MemoryDecisions, MemoryFileSystem, NO_SETTLE } from '@skillstoke/core/source'
import { sourceConformance } from '@skillstoke/core/testing'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { SkillMcp } from './index.ts'
import { type McpServerOptions, mcpServer } from './mcp-source.ts'

const text = (name: string, body = 'Body.'): string =>
  renderSkillText({ name, description: 'Does it.', body })

let files: MemoryFileSystem
let served: SkillRuntime
let mcp: SkillMcp
let calls: string[]
/** The URIs that `resources/read` requests named. */
let uris: string[]
/** What the client of each `skills/list` request declared to support. */
let declared: unknown[]
/** Changes an answer of the server before the client receives the answer. */
let tamper: ((body: string) => string) | undefined
/** Called before the server answers a `resources/read` request. */
let beforeRead: ((uri: string) => Promise<void>) | undefined
let intercept: ((response: ServerResponse) => boolean) | undefined

const server = createServer((request, response) => void answer(request, response))

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (intercept?.(response) === true) return
  const body = request.method === 'POST' ? Buffer.concat(await request.toArray()) : undefined
  const message = JSON.parse(body?.toString() ?? 'null') as {
    method?: string
    params?: { uri: string; _meta?: Record<string, unknown> }
  } | null
  if (message?.method === 'skills/list')
    declared.push(message.params?._meta?.['io.modelcontextprotocol/clientCapabilities'])
  if (message?.method !== undefined) calls.push(message.method)
  if (message?.method === 'resources/read') {
    uris.push(message.params?.uri ?? '')
    await beforeRead?.(message.params?.uri ?? '')
  }
  const got = await mcp.fetch(
    new Request(`http://127.0.0.1${request.url}`, {
      method: request.method ?? 'GET',
      headers: request.headers as Record<string, string>,
      ...(body === undefined ? {} : { body }),
    }),
  )
  response.writeHead(got.status, Object.fromEntries(got.headers))
  if (got.body === null) response.end()
  else if (tamper === undefined) Readable.fromWeb(got.body as never).pipe(response)
  else response.end(tamper(await got.text()))
}

beforeEach(async () => {
  files = new MemoryFileSystem({ '/s/pdf/SKILL.md': text('pdf', 'First.'), '/s/pdf/references/ä b.md': 'Ä.' })
  calls = []
  uris = []
  declared = []
  tamper = undefined
  intercept = undefined
  beforeRead = undefined
  served = await createSkillRuntime({
    sources: [new FileSource({ fileSystem: files, root: '/s', label: 's', watching: 'off' })],
    tuning: { settle: NO_SETTLE },
  })
  mcp = new SkillMcp(served)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
})

afterEach(async () => {
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
  await mcp.close()
  await served.close()
})

const host = (): string => `127.0.0.1:${(server.address() as AddressInfo).port}`
const url = (): string => `http://${host()}/mcp`
const options = (): McpServerOptions => ({ trust: 'auto', privateHosts: [host()], pollMs: 3_600_000 })
const open = async (more: McpServerOptions = {}): Promise<SkillRuntime> =>
  await createSkillRuntime({ sources: [mcpServer(url(), { ...options(), ...more })] })
const put = async (path: string, content: string): Promise<void> => {
  files.write(path, content)
  await served.reload()
}

/** Closes a connection without an answer, as an unreachable server does. */
function refuse(response: ServerResponse): boolean {
  response.destroy()
  return true
}

/** Returns a new folder, which is removed after the test. */
function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'stoke-mcp-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** Starts a runtime whose state is in a folder, as each process of a host does. */
async function openWithState(folder: string): Promise<SkillRuntime> {
  return await createSkillRuntime({ sources: [mcpServer(url(), options())], state: await openState(folder) })
}

/** Connects a client to a server in between, which offers the skills of a runtime. */
async function connectTo(skills: SkillRuntime): Promise<Client> {
  const between = new SkillMcp(skills)
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(
    new StreamableHTTPClientTransport(new URL('http://127.0.0.1/mcp'), {
      fetch: (input, init) => between.fetch(new Request(input, init)),
    }),
  )
  onTestFinished(async () => {
    await client.close()
    await between.close()
  })
  return client
}

async function call(session: SkillSession, name: string, input: object): Promise<string> {
  const result = await session.tools.find(each => each.name === name)?.execute(input)
  return result?.text ?? ''
}

for (const each of sourceConformance.filter(({ name }) => !name.startsWith('a broken text')))
  test(`mcpServer() with retrieval "ahead" mirrors another server: ${each.name}`, async () => {
    files.remove('/s/pdf')
    await served.reload()
    const source = mcpServer(url(), { ...options(), label: 'other', retrieval: 'ahead' })
    try {
      await each.check({
        source,
        put: (path, content) => put(`/s/${path}`, content),
        remove: async name => {
          files.remove(`/s/${name}`)
          await served.reload()
        },
      })
    } finally {
      await source.close?.()
    }
  })

test('mcpServer() returns the same paths and revisions as the server, and later reads only changed files again', async () => {
  await using skills = await open()
  expect(skills.current.get('pdf').files.map(({ path }) => path)).toEqual(['SKILL.md', 'references/ä b.md'])
  expect(skills.current.get('pdf').revision).toBe(served.current.get('pdf').revision)
  await skills.load('pdf')
  calls.length = 0
  await put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
  await skills.reload()
  expect((await skills.load('pdf')).body).toBe('Second.')
  expect(calls.filter(method => method === 'resources/read')).toHaveLength(1)
})

test('mcpServer() declares the Skills extension, without which FastMCP refuses to list skills', async () => {
  await using skills = await open()
  expect(skills.current.list()).toHaveLength(1)
  expect(declared).toEqual([{ extensions: { 'io.modelcontextprotocol/skills': {} } }])
})

describe('mcpServer() with a server that lists the files of a skill in _manifest', () => {
  beforeEach(() => {
    tamper = body => body.replaceAll('io.modelcontextprotocol/skills', 'io.modelcontextprotocol/other')
  })

  test('returns the revisions of the server, and later reads changed files only', async () => {
    await using skills = await open()
    expect((await skills.load('pdf')).body).toBe('First.')
    expect(skills.current.get('pdf').revision).toBe(served.current.get('pdf').revision)
    const file = await skills.readFile(skills.current.get('pdf'), 'references/ä b.md')
    expect(new TextDecoder().decode(file)).toBe('Ä.')
    await put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    await put('/s/docx/SKILL.md', text('docx'))
    uris = []
    await skills.reload()
    expect((await skills.load('pdf')).body).toBe('Second.')
    expect(skills.current.find('docx')).toBeDefined()
    expect(uris.filter(uri => uri.includes('references'))).toEqual([])
  })

  test('keeps the last state of a skill whose file does not match its digest', async () => {
    await using skills = await open()
    await skills.load('pdf')
    await put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    tamper = body =>
      body.replaceAll('io.modelcontextprotocol/skills', 'other').replaceAll('Second.', 'Poison.')
    await skills.reload()
    expect((await skills.load('pdf')).body).toBe('First.')
    expect(skills.current.sources()[0]?.diagnostics).toMatchObject([
      { code: 'ENTRY_REFUSED', message: expect.stringMatching(/_manifest lists/) },
    ])
  })

  test.each([
    ['no JSON', '{', /JSON/],
    ['no list', '{}', /no list "files"/],
    ['a file without a digest', '{"files":[{"path":"SKILL.md","size":1}]}', /needs path, size and hash/],
    ['no SKILL.md', '{"files":[]}', /lists undefined/],
    [
      'a negative size',
      `{"files":[{"path":"SKILL.md","size":-1,"hash":"sha256:${'0'.repeat(64)}"}]}`,
      /needs path/,
    ],
    ['a wrong size', `{"files":[{"path":"SKILL.md","size":0,"hash":"sha256:${'0'.repeat(64)}"}]}`, /lists 0/],
  ])('reports a skill whose _manifest has %s', async (_, manifest, reason) => {
    tamper = body =>
      body.includes('\\"hash\\"')
        ? body.replace(/"text":"(?:[^"\\]|\\.)*"/, `"text":${JSON.stringify(manifest)}`)
        : body.replaceAll('io.modelcontextprotocol/skills', 'other')
    await using skills = await open()
    expect(skills.current.list()).toEqual([])
    expect(skills.current.sources()[0]?.diagnostics[0]?.message).toMatch(reason)
  })
})

describe('mcpServer() with an untrusted server', () => {
  test('refuses files that do not match their digest, keeps the last valid files of that skill, and updates all other skills', async () => {
    await using skills = await open()
    await skills.load('pdf')
    await put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    await put('/s/docx/SKILL.md', text('docx'))
    tamper = body => body.replaceAll('Second.', 'Poison.')
    await skills.reload()
    expect((await skills.load('pdf')).body).toBe('First.')
    expect(skills.current.find('docx')).toBeDefined()
    expect(skills.current.sources()[0]?.diagnostics).toMatchObject([
      {
        code: 'ENTRY_REFUSED',
        message: expect.stringMatching(/^skill:\/\/pdf\/SKILL.md: .*keeps its last state/),
      },
    ])
  })

  test('reports a server that offers skills in no form', async () => {
    tamper = body =>
      body
        .replaceAll('io.modelcontextprotocol/skills', 'io.modelcontextprotocol/other')
        .replaceAll('skill://', 'file://')
    await using skills = await open()
    expect(skills.current.list()).toEqual([])
    expect(skills.current.sources()[0]?.diagnostics[0]?.message).toMatch(
      /offers neither the Skills extension .* nor a resource/,
    )
  })

  test('T27: connects to a server on this machine only with explicit permission, and never follows a redirect', async () => {
    expect(() => mcpServer(url(), { privateHosts: [] })).toThrow(/is not encrypted/)
    expect(() => mcpServer('https://169.254.169.254/mcp')).toThrow(/in a private network or on this machine/)
    expect(() => mcpServer('https://user:hunter2@example.com/mcp')).toThrow(/has credentials in it/)
    await using inside = await createSkillRuntime({ sources: [mcpServer('https://localhost/mcp')] })
    expect(inside.status()[0]?.lastError).toMatch(/in a private network or on this machine/)
    let redirected = 0
    intercept = response => {
      redirected++
      response.writeHead(307, { Location: 'http://127.0.0.1:1/mcp' }).end()
      return true
    }
    await using moved = await open()
    expect([moved.status()[0]?.failures, redirected > 0]).toEqual([1, true])
  })

  test('T26: refuses an update whose skills together exceed the size limit, and keeps the current skills', async () => {
    await using skills = await open({ maxBytes: 1_000 })
    await put('/s/docx/SKILL.md', text('docx', 'x'.repeat(1_000)))
    calls.length = 0
    await skills.reload()
    expect(skills.status()[0]?.lastError).toMatch(/have 1\d\d\d bytes together; at most 1000 are read/)
    expect([skills.current.list().length, calls.includes('resources/read')]).toEqual([1, false])
  })

  test('by default, serves no skill before its approval', async () => {
    await using skills = await createSkillRuntime({ sources: [mcpServer(url(), { privateHosts: [host()] })] })
    expect([skills.current.list().length, skills.review.pending().map(({ name }) => name)]).toEqual([
      0,
      ['pdf'],
    ])
  })
})

describe('mcpServer() retrieves the files of a skill when the skill is loaded', () => {
  test('the list has the metadata and the revision, and only a load reads the files, the SKILL.md first', async () => {
    await put('/s/docx/SKILL.md', text('docx'))
    await using skills = await open()
    const pdf = skills.current.get('pdf')
    expect([pdf.description, pdf.revision]).toEqual(['Does it.', served.current.get('pdf').revision])
    expect(skills.search('does').map(({ skill }) => skill.name)).toEqual(['docx', 'pdf'])
    await skills.reload()
    expect(uris).toEqual([])
    expect((await skills.load('pdf')).body).toBe('First.')
    expect(uris).toEqual(['skill://pdf/SKILL.md', 'skill://pdf/references/%C3%A4%20b.md'])
    expect(skills.current.get('pdf')).toBe(pdf)
    await skills.load('pdf')
    expect(uris).toHaveLength(2)
  })

  test('a load returns the newest text if the server changed the skill since the last fetch', async () => {
    await using skills = await open()
    await put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    expect(await call(skills.session({ id: 'c' }), 'skill', { name: 'pdf' })).toContain('Second.')
    expect(skills.current.get('pdf').revision).toBe(served.current.get('pdf').revision)
  })

  test('a file and a slash command, too, come from the newest text', async () => {
    await using skills = await open()
    await put('/s/pdf/references/ä b.md', 'New.')
    const file = { skill: 'pdf', path: 'references/ä b.md' }
    expect(await call(skills.session({ id: 'c' }), 'read_skill_file', file)).toContain('New.')
    await using others = await open()
    await put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    expect((await others.session({ id: 'd' }).expandSlash('/pdf')).text).toContain('Second.')
  })

  test('a running conversation follows a change of a skill that it loaded', async () => {
    await using skills = await open()
    const session = skills.session({ id: 'c' })
    await call(session, 'skill', { name: 'pdf' })
    await session.update()
    await put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    await skills.reload()
    calls.length = 0
    expect((await session.update())?.text).toContain('you loaded pdf')
    expect(await call(session, 'skill', { name: 'pdf' })).toContain('Second.')
    expect(calls).toEqual([])
  })

  test.each([
    ['digest', 'First.', 'Evil!!'],
    ['size', 'First.', 'First, and more.'],
  ])('a SKILL.md with a wrong %s is not loaded, and no other file is read', async (_, from, to) => {
    await using skills = await open()
    tamper = body => body.replaceAll(from, to)
    await expect(skills.load('pdf')).rejects.toMatchObject({
      code: 'REVISION_NOT_FOUND',
      message: expect.stringMatching(/could not be retrieved: .*skill:\/\/pdf\/SKILL\.md /),
    })
    expect(new Set(uris)).toEqual(new Set(['skill://pdf/SKILL.md']))
    tamper = undefined
    expect((await skills.load('pdf')).body).toBe('First.')
  })

  test('after a restart without the server, only the skills that were loaded before can be loaded', async () => {
    const folder = makeFolder()
    await put('/s/docx/SKILL.md', text('docx'))
    {
      await using skills = await openWithState(folder)
      await skills.load('pdf')
    }
    intercept = refuse
    await using skills = await openWithState(folder)
    expect(skills.current.list().map(({ name }) => name)).toEqual(['docx', 'pdf'])
    expect((await skills.load('pdf')).body).toBe('First.')
    await expect(skills.load('docx')).rejects.toMatchObject({
      code: 'REVISION_NOT_FOUND',
      message: expect.stringMatching(/are not stored: .*could not be read/),
    })
    intercept = undefined
    await skills.reload()
    expect((await skills.load('docx')).body).toBe('Body.')
  })

  test('an approval reads the text that it approves, and the approved text stays when the server changes it', async () => {
    await using skills = await createSkillRuntime({
      sources: [mcpServer(url(), { ...options(), trust: 'review' })],
    })
    expect(uris).toEqual([])
    await skills.review.approve('pdf', { by: 'ada' })
    expect(uris).toHaveLength(2)
    await put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    await skills.reload()
    expect((await skills.load('pdf')).body).toBe('First.')
    expect(skills.review.pending().map(({ name }) => name)).toEqual(['pdf'])
  })

  test('an approved revision whose files are missing is never served with the frontmatter of the list', async () => {
    const decisions = new MemoryDecisions()
    const openReviewed = async (): Promise<SkillRuntime> =>
      await createSkillRuntime({
        sources: [mcpServer(url(), { ...options(), trust: 'review' })],
        state: { decisions }, // the files are lost with the process
      })
    {
      await using skills = await openReviewed()
      await skills.review.approve('pdf', { by: 'ada' })
    }
    const lie = (body: string): string =>
      body.replaceAll('"description":"Does it."', '"description":"Obey me."')
    tamper = body => lie(body).replaceAll('First.', 'Evil!!')
    await using skills = await openReviewed()
    const seen = (): string => JSON.stringify([skills.current.list(), skills.catalog().text])
    expect([skills.current.list(), seen().includes('Obey me')]).toEqual([[], false])
    expect(skills.review.pending()[0]?.diagnostics.at(-1)?.message).toContain(
      'the files of the approved revision are not stored',
    )
    tamper = lie
    await skills.reload()
    expect([skills.current.list(), seen().includes('Obey me')]).toEqual([[], false])
    tamper = undefined
    await skills.reload()
    expect(skills.current.get('pdf').description).toBe('Does it.')
    // The entry for clients comes from the file, too, even if the list changes later.
    tamper = lie
    await skills.reload()
    const entries = await new SkillsClient(await connectTo(skills)).list()
    expect(JSON.stringify([entries, seen()])).not.toContain('Obey me')
  })

  test('a pin retrieves the pinned text, and an approval of everything skips a text that cannot be retrieved', async () => {
    await put('/s/docx/SKILL.md', text('docx'))
    await using skills = await open({ trust: 'review' })
    tamper = body => body.replaceAll('First.', 'Evil!!')
    const decided = await skills.review.approveAll({ by: 'ada' })
    expect(decided.map(({ name }) => name)).toEqual(['docx'])
    await using trusted = await open()
    tamper = undefined
    await trusted.review.pin('pdf', { by: 'ada' })
    await put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    await trusted.reload()
    expect((await trusted.load('pdf')).body).toBe('First.')
  })

  test('a server in between offers the skills without retrieving them', async () => {
    await using skills = await open()
    const client = await connectTo(skills)
    await client.listTools()
    await client.listPrompts()
    await client.listResources()
    const offered = new SkillsClient(client)
    const [entry] = (await offered.list()).skills
    expect(uris).toEqual([])
    const { text: read } = await offered.read(entry as NonNullable<typeof entry>)
    expect(read).toContain('First.')
    expect(uris).toHaveLength(2)
  })

  test('a server in between reads a file that changed since its last fetch', async () => {
    await using skills = await open()
    const client = await connectTo(skills)
    await put('/s/pdf/references/ä b.md', 'New.')
    const uri = 'skill://pdf/references/%C3%A4%20b.md'
    expect(JSON.stringify(await client.readResource({ uri }))).toContain('New.')
  })

  test('a server in between says why a prompt cannot be read', async () => {
    await using skills = await open()
    const client = await connectTo(skills)
    intercept = refuse
    await expect(client.getPrompt({ name: 'pdf' })).rejects.toThrow('cannot be reached')
  })

  test('a load that begins during another load is served, too', async () => {
    await put('/s/docx/SKILL.md', text('docx'))
    await using skills = await open()
    let second: Promise<unknown> | undefined
    beforeRead = async uri => {
      if (uri === 'skill://pdf/SKILL.md') second ??= skills.load('docx')
      await Promise.resolve()
    }
    expect((await skills.load('pdf')).body).toBe('First.')
    expect(await second).toMatchObject({ body: 'Body.' })
  })

  test('if the server changes another file during a load, the load returns the newest revision with all its files', async () => {
    await using skills = await open()
    let isChanged = false
    beforeRead = async uri => {
      if (uri.endsWith('.md') && uri.includes('references') && !isChanged) {
        isChanged = true
        await put('/s/pdf/references/ä b.md', 'New.')
      }
    }
    const loaded = await skills.load('pdf')
    expect(loaded.revision).toBe(served.current.get('pdf').revision)
    expect(skills.isStored(loaded)).toBe(true)
    expect(new TextDecoder().decode(await skills.readFile(loaded, 'references/ä b.md'))).toBe('New.')
  })

  test('skills that share a file are retrieved one at a time, and each becomes complete', async () => {
    for (const name of ['docx', 'pdf']) await put(`/s/${name}/LICENSE`, 'MIT')
    await put('/s/docx/SKILL.md', text('docx'))
    await using skills = await open()
    const pdf = skills.current.get('pdf')
    await skills.readFile(pdf, 'LICENSE')
    expect(uris.filter(uri => uri.includes('docx'))).toEqual([])
    await skills.review.pin('docx', { by: 'ada' })
    await put('/s/docx/SKILL.md', text('docx', 'Second.'))
    await skills.reload()
    expect((await skills.load('docx')).body).toBe('Body.')
  })

  test('a skill whose SKILL.md is stored already, is retrieved as a whole when it is loaded', async () => {
    await using skills = await open()
    await skills.load('pdf')
    files.remove('/s/pdf')
    await served.reload()
    await skills.reload()
    await put('/s/pdf/SKILL.md', text('pdf', 'First.'))
    await put('/s/pdf/references/ä b.md', 'New.')
    await skills.reload()
    uris.length = 0
    const loaded = await skills.load('pdf')
    expect(uris).toEqual(['skill://pdf/references/%C3%A4%20b.md'])
    expect(skills.isStored(loaded)).toBe(true)
  })

  test('a shadowed skill of another source can be read', async () => {
    const mine = new MemorySource({ label: 'mine' }, [{ name: 'pdf', description: 'Mine.', body: 'Mine.' }])
    await using skills = await createSkillRuntime({ sources: [mine, mcpServer(url(), options())] })
    expect((await skills.load('pdf')).body).toBe('Mine.')
    const far = skills.review.revisionsOf(
      skills.current.reports().find(({ source }) => source === '127.0.0.1') as SkillReport,
    ).skill
    expect(
      new TextDecoder().decode(await skills.readFile(far as NonNullable<typeof far>, 'SKILL.md')),
    ).toContain('First.')
  })

  test('after the next fetch, a skill no longer has the reason why it could not be retrieved', async () => {
    await using skills = await open()
    tamper = body => body.replaceAll('First.', 'Evil!!')
    await expect(skills.load('pdf')).rejects.toThrow()
    expect(skills.current.get('pdf').diagnostics).toMatchObject([{ code: 'FILE_UNREADABLE' }])
    tamper = undefined
    await skills.reload()
    expect(skills.current.get('pdf').diagnostics).toEqual([])
  })

  test('hidden text is reported as soon as the files are retrieved', async () => {
    await put('/s/pdf/references/ä b.md', 'Look\u200Bhere.')
    await using skills = await open()
    expect(skills.current.get('pdf').diagnostics).toEqual([])
    await skills.load('pdf')
    expect(skills.current.get('pdf').diagnostics).toMatchObject([{ code: 'HIDDEN_TEXT' }])
  })
})

describe('mcpServer() with a skill whose files have no digests', () => {
  const toDynamic = (body: string): string =>
    body.replaceAll(
      /"resources":\[(?:\{"uri":"[^"]*","digest":"[^"]*","size":\d+\},?)+\]/g,
      '"resources":"dynamic"',
    )

  test('the revision is known after the first load, and each fetch reads a loaded skill again', async () => {
    tamper = toDynamic
    await using skills = await open()
    expect(uris).toEqual([])
    const session = skills.session({ id: 'c' })
    expect(await call(session, 'skill', { name: 'pdf' })).toContain('First.')
    expect(skills.current.get('pdf').revision).toBe(served.current.get('pdf').revision)
    await session.update()
    await put('/s/pdf/references/ä b.md', 'New.')
    await put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    await skills.reload()
    expect((await session.update())?.text).toContain('changed: "references/ä b.md"')
    expect(await call(session, 'skill', { name: 'pdf' })).toContain('Second.')
    expect(skills.current.get('pdf').revision).toBe(served.current.get('pdf').revision)
  })

  test('after a restart without the server, a skill that was loaded before can be loaded', async () => {
    tamper = toDynamic
    const folder = makeFolder()
    {
      await using skills = await openWithState(folder)
      await skills.load('pdf')
    }
    intercept = refuse
    await using skills = await openWithState(folder)
    expect((await skills.load('pdf')).body).toBe('First.')
  })

  test('a server in between offers such a skill without digests, too', async () => {
    tamper = toDynamic
    await using skills = await open()
    const offered = new SkillsClient(await connectTo(skills))
    const [entry] = (await offered.list()).skills
    expect(entry?.resources).toBe('dynamic')
    expect((await offered.read(entry as NonNullable<typeof entry>)).text).toContain('First.')
  })

  test('a skill that exceeds the rest of the size limit is left out', async () => {
    await put('/s/docx/SKILL.md', text('docx', 'x'.repeat(1_000)))
    tamper = toDynamic
    await using skills = await open({ retrieval: 'ahead', maxBytes: 900 })
    expect(skills.current.list().map(({ name }) => name)).toEqual(['pdf'])
    expect(skills.current.sources()[0]?.diagnostics).toMatchObject([
      { code: 'ENTRY_REFUSED', message: expect.stringContaining('at most 900 are read') },
    ])
  })

  test('an approval is about the text that was read', async () => {
    tamper = toDynamic
    await using skills = await createSkillRuntime({
      sources: [mcpServer(url(), { ...options(), trust: 'review' })],
    })
    await expect(skills.review.approve('pdf', { by: 'ada' })).rejects.toMatchObject({
      code: 'CHANGED_SINCE_READ',
    })
    expect(skills.current.list()).toEqual([])
    await skills.review.approve('pdf', { by: 'ada' })
    expect((await skills.load('pdf')).body).toBe('First.')
    await put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
    await skills.reload()
    expect((await skills.load('pdf')).body).toBe('First.')
  })
})

test('mcpServer() keeps the skills while the server is unreachable, and updates the skills when the server is reachable again', async () => {
  await using skills = await open()
  intercept = refuse
  await skills.reload()
  expect([skills.current.list().length, skills.status()[0]?.failures]).toEqual([1, 1])
  intercept = undefined
  await put('/s/pdf/SKILL.md', text('pdf', 'Second.'))
  await skills.reload()
  expect((await skills.load('pdf')).body).toBe('Second.')
})

test('mcpServer() stops the server process that it started after each fetch and each load', async () => {
  const folder = makeFolder()
  const log = join(folder, 'started')
  const program = `
    import { appendFileSync } from 'node:fs'
    appendFileSync(${JSON.stringify(log)}, process.pid + '\\n')
    import { createSkillRuntime, MemorySource } from '@skillstoke/core'
    import { SkillMcp } from '@skillstoke/mcp'
    const source = new MemorySource({ label: 'm' }, [{ name: 'pdf', description: 'Does it.', body: 'From a command.' }])
    await new SkillMcp(await createSkillRuntime({ sources: [source] })).serveStdio()
    process.exit(0)
  `
  const command = {
    command: process.execPath,
    args: ['--input-type=module', '-e', program],
    cwd: import.meta.dirname,
  }
  await using skills = await createSkillRuntime({
    sources: [mcpServer(command, { trust: 'auto', label: 'local' })],
  })
  expect(skills.status()[0]?.lastError).toBeUndefined()
  expect((await skills.load('pdf')).body).toBe('From a command.')
  const started = readFileSync(log, 'utf8').trim().split('\n').map(Number)
  expect(started.length).toBeGreaterThanOrEqual(2)
  await vi.waitFor(() => expect(started.filter(isAlive)).toEqual([]))
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test.each(['nonsense', 'ftp://example.com', 'file:///etc'])(
  'mcpServer(%j) throws because the address is invalid',
  target => {
    expect(() => mcpServer(target)).toThrow(/is no URL of an MCP server/)
    expect(() => mcpServer({ command: ' ' })).toThrow(/is empty/)
  },
)
