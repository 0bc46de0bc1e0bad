import { once } from 'node:events'
import { existsSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { GENERATION_META_KEY } from '@skillstoke/mcp'
import { ApiClient, ApiError, type ServerEvent, type UpdateEvent } from 'skillstoke/client'
import { describe, expect, test } from 'vitest'
import { stoke, stokeProcess } from './fixtures/cli.ts'
import { type DevProcess, startDev } from './fixtures/dev.ts'
import { startClient } from './fixtures/mcp-client.ts'
import { commandText } from './fixtures/scripts.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

describe('the API', () => {
  test('every route of the API answers from the newest generation', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('refund', { body: 'Within 30 days.' })
    folder.write('refund/references/a b.md', 'A reference.')
    folder.write('refund/logo.png', new Uint8Array([0x89, 0, 0xff]))
    await using dev = await startDev({ root: folder.path, state: state.path })
    const { client } = dev

    folder.writeSkill('refund', { body: 'Within 60 days.' })
    const list = await client.skills()
    const status = await client.status()
    const detail = await client.skill('refund')
    const sessions = await client.sessions()
    expect(list.generation).toEqual(status.generation)
    expect(detail.generation).toEqual(status.generation)
    expect(sessions.generation).toEqual(status.generation)
    expect(status).toMatchObject({
      counts: { ok: 1, broken: 0 },
      pid: dev.process.pid,
      stateDirectory: state.path,
    })
    expect(status.sources).toMatchObject([{ label: 'root-1', path: folder.path, mode: 'events', skills: 1 }])
    expect(list.skills).toMatchObject([{ name: 'refund', status: 'ok', source: 'root-1' }])
    expect(detail).toMatchObject({ body: 'Within 60 days.', refusedText: null })
    expect(detail.files.map(file => file.path)).toEqual(['SKILL.md', 'logo.png', 'references/a b.md'])
    expect(await client.file('refund', 'references/a b.md')).toMatchObject({ text: 'A reference.', size: 12 })
    expect(await client.file('refund', 'logo.png')).toMatchObject({
      ...{ isText: false, size: 3 },
      text: expect.stringMatching(/^<0x89>.*<0xFF>$/s),
    })
    expect((await client.diff('refund')).text).toContain('-Within 30 days.\n+Within 60 days.')
    expect(sessions.sessions[0]).toMatchObject({ id: 'dev', loaded: [{ name: 'refund' }] })
    expect(sessions.sessions[0]?.catalogText).toContain('refund')
    expect((await client.why('refund', { session: 'dev' })).steps.map(step => step.ok)).not.toContain(false)
  })

  test('a 404 answer names the missing item and suggests existing items', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('refund')
    await using dev = await startDev({ root: folder.path, state: state.path })
    await expect(dev.client.skill('refnud')).rejects.toThrow('did you mean "refund"?')
    await expect(dev.client.file('refund', '../refund/SKILL.md')).rejects.toThrow('has no file')
    await expect(dev.client.why('refund', { session: 'nobody' })).rejects.toThrow(
      'there is no conversation "nobody"; there are: dev',
    )
    expect((await dev.client.why('refnud')).steps).toMatchObject([{ step: 'found', ok: false }])
    await expect(new ApiClient({ url: dev.url, token: 'wrong' }).status()).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      status: 401,
    })
  })

  test('the Chat Completions API answers with the offline model, and names the wrong field of a request', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    await using dev = await startDev({ root: folder.path, state: state.path, args: ['--no-agent'] })
    const ask = async (...messages: readonly object[]): Promise<unknown> => {
      const response = await fetch(`${dev.url}/api/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${dev.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'gpt-6-mini', messages }),
      })
      return await response.json()
    }
    const catalog = '<skill>\n<name>refund</name>\n<description>Refunds.</description>\n</skill>\n'
    const system = { role: 'system', content: catalog.padEnd(20_000) }
    const content = 'I see the skills refund and no tools; none fits the question.'
    expect(await ask(system, { role: 'user', content: [{ type: 'text', text: 'Hello.' }] })).toMatchObject({
      choices: [{ message: { role: 'assistant', content }, finish_reason: 'stop' }],
    })
    expect(await ask({ role: 'bot', content: 'Hello.' })).toMatchObject({
      error: { code: 'INVALID_REQUEST', message: expect.stringMatching(/^messages\.0\.role: /) },
    })
  })

  test('a reload reads the sources again and reports the changes, if any', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('refund')
    await using dev = await startDev({ root: folder.path, state: state.path })
    const nothing = await dev.client.reload()
    expect(nothing).toMatchObject({ changes: [], problems: [] })
    expect(nothing.generation).toEqual(nothing.previous)
    folder.writeSkill('shipping')
    folder.write('refund/SKILL.md', '---\nname: refund\ndescription: "open\n---\n')
    const result = await dev.client.reload()
    expect(result.changes).toMatchObject([{ kind: 'added', name: 'shipping', from: null }])
    expect(result.problems).toMatchObject([
      { name: 'refund', status: 'broken', place: expect.stringContaining(':3:') },
    ])
  })
})

describe('views of the same generation', () => {
  test('every view shows an unreadable skill as broken', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    const file = folder.writeSkill('refund')
    await using dev = await startDev({ root: folder.path, state: state.path, args: ['--no-agent'] })
    const place = (await readEvents(dev, undefined, 1))[0]?.id
    rmSync(file)
    symlinkSync('SKILL.md', file) // a link to itself
    await dev.client.reload()
    const [first] = await readEvents(dev, place, 1, 'update')
    expect(first?.event).toMatchObject({ entry: { problems: [{ name: 'refund', status: 'broken' }] } })
    const [present] = await readEvents(dev, undefined, 1)
    expect(present?.event).toMatchObject({
      status: { counts: { ok: 0, broken: 1 } },
      skills: [{ name: 'refund', status: 'broken' }],
      timeline: [{ problems: [{ name: 'refund' }] }],
    })
    await dev.printed(/REJECTED/)
    rmSync(file)
    folder.writeSkill('refund', { body: 'Mended.' })
    await dev.printed(/LIVE refund/)
  })

  test('stoke why gives the same explanation for a skill outside the scope, whether or not a dev server is running', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('refund')
    folder.writeSkill('hidden')
    const args = ['--exclude', 'hidden']
    const why = (name: string): { status: number | null; steps: unknown } => {
      const run = stoke<{ steps: unknown }>([
        'why',
        name,
        '--json',
        '--config',
        folder.at('config.json'),
        '--state',
        state.path,
      ])
      return { status: run.status, steps: run.json.steps }
    }
    folder.write('config.json', JSON.stringify({ roots: ['.'], scope: { exclude: ['hidden'] } }))
    const scanned = [why('refund'), why('hidden')]
    await using dev = await startDev({ root: folder.path, state: state.path, args })
    expect([why('refund'), why('hidden')]).toEqual(scanned)
    expect(scanned.map(each => each.status)).toEqual([0, 1])
    expect((await dev.client.skill('hidden')).explanation.steps.at(-1)).toMatchObject({
      step: 'scoped',
      ok: false,
    })
  })

  test('the dev server has the same scope and digest as the MCP client that it helps to set up', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('skills/refund')
    folder.writeSkill('skills/hidden')
    const file = { roots: [{ path: 'skills', label: 'team' }], scope: { exclude: ['hidden'] } }
    const config = folder.write('skillstoke.json', JSON.stringify(file))
    await using dev = await startDev({ state: state.path, args: ['--no-agent', '--config', config] })
    const [, options = ''] = /mcp install claude-code (.*)/.exec(dev.output()) ?? []
    const printed = stoke(['mcp', '--print-config', 'cursor', ...options.split(' ')])
    const { mcpServers } = JSON.parse(printed.stdout) as {
      mcpServers: { skillstoke: { command: string; args: string[] } }
    }
    await using client = await startClient('v2 of 2026-07-28', { kind: 'stdio', ...mcpServers.skillstoke })
    const load = async (name: string): Promise<unknown> =>
      await client.ask('tools/call', { name: 'skill', arguments: { name } })
    expect(await load('refund')).toMatchObject({
      isError: false,
      _meta: { [GENERATION_META_KEY]: (await dev.client.status()).generation.digest },
    })
    expect(await load('hidden')).toMatchObject({ isError: true })
  })

  test('the dev server shows the conversation of an MCP client from the first load of a skill until the conversation ends', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('refund')
    await using dev = await startDev({ root: folder.path, state: state.path, args: ['--no-agent'] })
    const client = await startClient('v1', {
      kind: 'http',
      url: dev.mcpUrl,
      headers: { authorization: `Bearer ${dev.token}` },
    })
    const end = new AbortController()
    const loaded = new Set<string>()
    for await (const event of dev.client.events({ signal: end.signal })) {
      if (event.kind === 'state')
        await client.ask('tools/call', { name: 'skill', arguments: { name: 'refund' } })
      if (event.kind !== 'sessions') continue
      for (const session of event.sessions)
        for (const { name } of session.loaded) loaded.add(`${session.id} ${name}`)
      if (loaded.size > 0) break
    }
    expect([...loaded]).toEqual(['mcp-1 refund'])
    await client[Symbol.asyncDispose]()
  })
})

describe('the event stream', () => {
  test('the event stream starts with the current state and then reports each generation', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('refund')
    await using dev = await startDev({ root: folder.path, state: state.path })
    const end = new AbortController()
    const events: ServerEvent[] = []
    for await (const event of dev.client.events({ signal: end.signal })) {
      events.push(event)
      if (events.length === 1) folder.writeSkill('shipping')
      if (event.kind === 'update') break
    }
    const [first] = events
    const update = events.at(-1) as UpdateEvent
    expect(first).toMatchObject({ kind: 'state', skills: [{ name: 'refund' }], timeline: [] })
    expect(update.entry.changes).toMatchObject([{ kind: 'added', name: 'shipping' }])
    // A row also changes when the demo agent uses its skill.
    const unused = update.skills.filter(({ usage }) => usage === null)
    expect(unused.map(({ name }) => name)).toEqual(['shipping'])
    expect(update.entry.detectedMs).toBeGreaterThanOrEqual(0)
    expect(update.status.generation).toEqual((await dev.client.status()).generation)
  })

  test('the stream resumes after the last received event, or starts over if the event id is unknown', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('refund')
    await using dev = await startDev({ root: folder.path, state: state.path })
    const first = await readEvents(dev, undefined, 1)
    const { startId } = await dev.client.status()
    expect(first[0]?.id).toMatch(new RegExp(`^${startId}-\\d+$`))
    const places: string[] = []
    using staging = new TemporaryFolder()
    for (const name of ['a', 'b', 'c']) {
      // Move the folder in one step, because reading a half-written text would cause an extra update.
      staging.writeSkill(name)
      renameSync(staging.at(name), folder.at(name))
      await dev.client.reload()
    }
    const missed = await readEvents(dev, first[0]?.id, 3, 'update')
    expect(missed.map(({ event }) => (event as UpdateEvent).entry.changes[0]?.name)).toEqual(['a', 'b', 'c'])
    places.push(...missed.map(({ id }) => id))
    const rest = await readEvents(dev, places[1], 1, 'update')
    expect(rest[0]?.id).toBe(places[2])
    for (const id of ['0123-4', `${startId}-999999`, `${startId}-x`, 'nonsense'])
      expect((await readEvents(dev, id, 1))[0]?.event.kind, id).toBe('state')
  })

  test('the stream accepts at most 256 readers, and accepts a new reader after one leaves', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('refund')
    await using dev = await startDev({ root: folder.path, state: state.path, args: ['--no-agent'] })
    const headers = { authorization: `Bearer ${dev.token}` }
    const held: Response[] = [] // keeps each response, because garbage collection would close its stream
    const open = async (method = 'GET', signal = new AbortController().signal): Promise<number> => {
      const response = await fetch(`${dev.url}/api/events`, { method, headers, signal })
      held.push(response)
      return response.status
    }
    // A request that ends immediately does not count as a reader.
    for (let count = 0; count < 300; count++) expect(await open('HEAD')).toBe(200)
    const first = new AbortController()
    expect(await open('GET', first.signal)).toBe(200)
    for (let count = 1; count < 256; count++) expect(await open()).toBe(200)
    expect(await open()).toBe(503)
    first.abort()
    await expect.poll(() => open('GET')).toBe(200)
    expect(await open()).toBe(503)
  })

  test('the client reports a lost connection and reconnects when the server returns', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('refund')
    const env = { SKILLSTOKE_TOKEN: 'a-token-for-this-test' }
    const first = await startDev({ root: folder.path, state: state.path, env })
    const { port } = new URL(first.url)
    const end = new AbortController()
    const connections: boolean[] = []
    const starts: string[] = []
    let second: DevProcess | undefined
    const onConnection = (isConnected: boolean): void => void connections.push(isConnected)
    for await (const event of first.client.events({ signal: end.signal, onConnection })) {
      if (event.kind !== 'state') continue
      starts.push(event.status.startId)
      if (starts.length === 2) break
      await first[Symbol.asyncDispose]()
      second = await startDev({ root: folder.path, state: state.path, env, args: ['--port', port] })
    }
    await second?.[Symbol.asyncDispose]()
    expect(new Set(starts).size).toBe(2)
    expect(connections[0]).toBe(true)
    expect(connections).toContain(false)
    expect(connections.at(-1)).toBe(true)
  })
})

test('a dev server names a root that does not exist yet, and prints no empty place', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('one/pdf')
  folder.writeSkill('two/pdf')
  const roots = ['--root', folder.at('one'), '--root', folder.at('two'), '--root', folder.at('later')]
  await using dev = await startDev({ state: folder.at('state'), args: [...roots, '--no-agent'] })
  expect(dev.output()).toContain(`root ${folder.at('one')}: watched by`)
  expect(dev.output()).toContain(`root ${folder.at('later')}: does not exist yet\n`)
  folder.writeSkill('one/examples/pdf')
  // The findings of a save follow its line.
  await dev.printed(new RegExp(folder.at('one/examples/pdf')))
  expect(dev.output()).not.toMatch(/^ *\w+ : /m)
})

test('a dev server that cannot start prints one line with the reason and leaves no file behind', async () => {
  using folder = new TemporaryFolder()
  using state = new TemporaryFolder()
  for (let index = 0; index < 50; index++) folder.writeSkill(`skill-${index}`)
  await using dev = await startDev({ root: folder.path, state: state.path, args: ['--no-agent'] })
  const { port } = new URL(dev.url)
  for (const args of [
    ['--port', port],
    ['--host', '192.0.2.1', '--port', '0'],
  ]) {
    const run = stokeProcess(['dev', folder.path, '--state', state.path, '--no-agent', ...args])
    expect([run.status, run.stdout], args.join(' ')).toEqual([2, ''])
    expect(run.stderr.trimEnd()).toMatch(
      /^error: (port \d+ is in use; name another port|cannot listen on)[^\n]*$/,
    )
  }
  expect(readdirSync(join(state.path, 'run'))).toEqual([`${dev.process.pid}.json`])
})

test('when a dev server ends, callers of a running command get an error, and no other message is logged', async () => {
  using folder = new TemporaryFolder()
  using state = new TemporaryFolder()
  folder.writeSkill('wait')
  folder.write(
    'wait/scripts/go.js',
    commandText('go', 'context.log("begun"); await new Promise(() => setInterval(() => {}, 1000))'),
  )
  await using dev = await startDev({ root: folder.path, state: state.path, args: ['--no-agent'] })
  const seen: unknown[] = []
  for await (const event of dev.client.run({ skill: 'wait', command: 'go', input: {} })) {
    seen.push(event)
    if (seen.length === 1) dev.process.kill('SIGINT')
  }
  expect(seen).toEqual([
    { kind: 'line', stream: 'log', text: 'begun' },
    { kind: 'failed', code: 'CLOSED', message: 'the server was stopped', durationMs: 0 },
  ])
  await dev.printed(/stopped\n$/)
  expect(dev.output()).not.toContain('AbortError')
})

describe('a running dev server and other processes', () => {
  const args = (folder: TemporaryFolder, state: TemporaryFolder): string[] => [
    '--root',
    folder.path,
    '--state',
    state.path,
  ]

  test('the verbs status, list, why and reload ask the running dev server, and say so in their output', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('refund')
    await using dev = await startDev({ root: folder.path, state: state.path })
    const from = { kind: 'dev', url: dev.url, pid: dev.process.pid }
    const { generation } = await dev.client.status()
    for (const verb of [['status'], ['list'], ['why', 'refund']]) {
      const run = stoke<{ from: unknown; generation?: unknown }>([...verb, '--json', ...args(folder, state)])
      expect(run.json.from).toEqual(from)
      if (verb[0] !== 'why') expect(run.json.generation).toEqual(generation)
      expect(stoke([...verb, ...args(folder, state)]).stdout).toContain(`running dev at ${dev.url}`)
    }
    expect(stoke(['why', 'refund', '--session', 'dev', ...args(folder, state)]).stdout).toContain('loaded')
    folder.writeSkill('shipping')
    const reloaded = stoke<{ changes: unknown[] }>(['reload', '--json', ...args(folder, state)])
    expect(reloaded.status).toBe(0)
    expect(reloaded.json).toMatchObject({ generation: (await dev.client.status()).generation })
    expect(stoke(['reload', ...args(folder, state)]).stdout).toContain('nothing changed')
    folder.write('refund/SKILL.md', 'no frontmatter')
    const broken = stoke(['reload', ...args(folder, state)])
    expect(broken.status).toBe(1)
    expect(broken.stdout).toContain('broken refund')
  })

  test('verbs do not ask a dev server whose roots differ from the roots of the verb', async () => {
    using folder = new TemporaryFolder()
    using other = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('refund')
    other.writeSkill('shipping')
    await using dev = await startDev({ root: folder.path, state: state.path })
    expect((await dev.client.status()).counts.ok).toBe(1)
    const run = stoke<{ from: unknown; skills: { name: string }[] }>([
      'list',
      '--json',
      ...args(other, state),
    ])
    expect(run.json.from).toEqual({ kind: 'scan' })
    expect(run.json.skills.map(skill => skill.name)).toEqual(['shipping'])
    expect(stoke(['list', ...args(other, state)]).stdout).toContain(
      `no running dev has these roots (${other.path}) and this state directory`,
    )
    const reload = stoke(['reload', ...args(other, state)])
    expect(reload.status).toBe(2)
    expect(reload.stderr).toContain('no running dev has these roots')
  })

  test('the dev server writes its run file again after the state directory was removed', async () => {
    using folder = new TemporaryFolder()
    using parent = new TemporaryFolder()
    folder.writeSkill('refund')
    const state = parent.at('state')
    const flags = ['--root', folder.path, '--state', state]
    await using dev = await startDev({ root: folder.path, state, args: ['--no-agent'] })
    rmSync(state, { recursive: true, maxRetries: 10 }) // the server may be writing to it
    const path = join(state, 'run', `${dev.process.pid}.json`)
    await expect.poll(() => existsSync(path)).toBe(true)
    expect([statSync(path).mode & 0o777, statSync(join(state, 'run')).mode & 0o777]).toEqual([0o600, 0o700])
    expect(stoke<{ from: unknown }>(['list', '--json', ...flags]).json.from).toMatchObject({ url: dev.url })
    expect(stoke(['reload', ...flags]).status).toBe(0)
  })

  test('a new dev server removes the run files of killed dev servers, even if their process ids are in use again', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('refund')
    const run = join(state.path, 'run')
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    const left = {
      url: `http://127.0.0.1:${port}`,
      host: hostname(),
      startId: 'gone',
      token: 'token',
      roots: [],
    }
    const dead = 2 ** 22 + 1 // above the largest process id of Linux
    state.write(`run/${dead}.json`, JSON.stringify({ ...left, pid: dead }))
    state.write(`run/${process.pid}.json`, JSON.stringify({ ...left, pid: process.pid }))
    state.write('run/1.json', JSON.stringify({ ...left, pid: 1, host: 'another-machine' }))
    state.write(`run/${dead}.json.gone.tmp`, '{')
    state.write(`run/open-${dead}.html`, 'a secret address')
    await using dev = await startDev({ root: folder.path, state: state.path, args: ['--no-agent'] })
    await expect.poll(() => readdirSync(run).sort()).toEqual(['1.json', `${dev.process.pid}.json`].sort())
  })

  test('a run file is private to its user, is removed when the server ends, and counts as stale after kill -9', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    folder.writeSkill('refund')
    const run = join(state.path, 'run')
    {
      await using dev = await startDev({ root: folder.path, state: state.path })
      const [name = ''] = readdirSync(run)
      expect(name).toBe(`${dev.process.pid}.json`)
      expect(statSync(join(run, name)).mode & 0o777).toBe(0o600)
      expect(statSync(run).mode & 0o777).toBe(0o700)
    }
    expect(readdirSync(run)).toEqual([])

    const killed = await startDev({ root: folder.path, state: state.path })
    const exited = new Promise<void>(resolve => killed.process.once('exit', () => resolve()))
    killed.process.kill('SIGKILL')
    await exited
    expect(readdirSync(run)).toHaveLength(1)
    expect(stoke<{ from: unknown }>(['list', '--json', ...args(folder, state)]).json.from).toEqual({
      kind: 'scan',
    })
    expect(readdirSync(run)).toEqual([])

    // Simulates a stale run file. Another process now has the process id in the file, and another dev server uses the
    // port in the file.
    await using dev = await startDev({ root: folder.path, state: state.path })
    const stale = {
      url: dev.url,
      host: hostname(),
      pid: process.pid,
      startId: 'earlier',
      token: dev.token,
      roots: [],
    }
    writeFileSync(join(run, `${process.pid}.json`), JSON.stringify(stale))
    writeFileSync(join(run, '1.json'), 'not JSON')
    const asked = stoke<{ from: { pid: number } }>(['list', '--json', ...args(folder, state)])
    expect(asked.json.from.pid).toBe(dev.process.pid)
    expect(readdirSync(run)).not.toContain(`${process.pid}.json`)
    // Run files of unreachable servers are kept, because a server may be slow or may run on another machine.
    const silent = { ...stale, url: 'http://127.0.0.1:1' }
    const elsewhere = { ...stale, host: 'another.example', pid: 999_999_999 }
    writeFileSync(join(run, `${process.pid}.json`), JSON.stringify(silent))
    writeFileSync(join(run, '999999999.json'), JSON.stringify(elsewhere))
    expect(stoke(['list', ...args(folder, state)]).stdout).toContain(`running dev at ${dev.url}`)
    expect(readdirSync(run)).toContain(`${process.pid}.json`)
    expect(readdirSync(run)).toContain('999999999.json')
  })
})

interface ReceivedEvent {
  readonly id: string
  readonly event: ServerEvent
}

/** Returns raw events with their ids, starting after `lastEventId`. */
async function readEvents(
  dev: DevProcess,
  lastEventId: string | undefined,
  count: number,
  kind?: ServerEvent['kind'],
): Promise<ReceivedEvent[]> {
  const end = new AbortController()
  const response = await fetch(`${dev.url}/api/events`, {
    headers: {
      authorization: `Bearer ${dev.token}`,
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    },
    signal: end.signal,
  })
  if (!response.ok || response.body === null) throw new ApiError(response.status, 'FAILED', 'no stream')
  const received: ReceivedEvent[] = []
  let text = ''
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    text += part
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const [, id = '', json = ''] = /^id: (.*)\ndata: (.*)$/.exec(block) ?? []
      if (json === '') continue
      const event = JSON.parse(json) as ServerEvent
      if (kind === undefined || event.kind === kind) received.push({ id, event })
    }
    if (received.length >= count) break
  }
  end.abort()
  return received.slice(0, count)
}

test('a second dev of the same folders names the first one', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/refund')
  const options = { root: folder.at('skills'), state: folder.at('state'), args: ['--no-agent'] }
  await using first = await startDev(options)
  expect(first.output()).not.toContain('already serves')
  await using second = await startDev(options)
  expect(second.output()).toContain(
    `note: process ${first.process.pid} already serves these folders at ${first.url}; this one is a second`,
  )
})
