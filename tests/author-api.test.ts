import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { ApiError, type ServerEvent } from 'skillstoke/client'
import { describe, expect, test } from 'vitest'
import { stoke } from './fixtures/cli.ts'
import { type DevProcess, startDev } from './fixtures/dev.ts'
import { GitRepository } from './fixtures/git-repository.ts'
import { overHttp, startClient } from './fixtures/mcp-client.ts'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'

const BROKEN = '---\nname: "refund\n---\nText.\n'

/** A dev server without an agent. Its folders are removed at the end. */
interface Server extends AsyncDisposable {
  readonly dev: DevProcess
  readonly folder: TemporaryFolder
}

async function startServer(
  write: (folder: TemporaryFolder) => void,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<Server> {
  const folder = new TemporaryFolder()
  const state = new TemporaryFolder()
  write(folder)
  const dev = await startDev({ root: folder.path, state: state.path, args: ['--no-agent', ...args], env })
  return {
    dev,
    folder,
    [Symbol.asyncDispose]: async () => {
      await dev[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
      state[Symbol.dispose]()
    },
  }
}

function failure(status: number, code: string): Partial<ApiError> {
  return expect.objectContaining({ status, code })
}

describe('an author changes a skill on the page', () => {
  test('a text is checked before it is saved, and a save names the text that it replaces', async () => {
    await using server = await startServer(folder => folder.writeSkill('refund'))
    const { client } = server.dev
    const path = server.folder.at('refund/SKILL.md')
    const before = readFileSync(path, 'utf8')

    const { findings } = await client.check('refund', BROKEN)
    expect(findings).toContainEqual(expect.objectContaining({ code: 'YAML_INVALID', line: 2 }))
    expect(readFileSync(path, 'utf8')).toBe(before)

    const after = before.replace('Instructions of refund.', 'Within 14 days.')
    expect(await client.save('refund', before, after)).toMatchObject({ name: 'refund', status: 'ok' })
    expect(await client.skill('refund')).toMatchObject({ body: 'Within 14 days.' })

    const error = await client.save('refund', before, 'lost?').catch((thrown: unknown) => thrown)
    expect(error).toEqual(failure(409, 'CONFLICT'))
    expect(readFileSync(path, 'utf8')).toBe(after)

    expect(await client.save('refund', after, BROKEN)).toMatchObject({ status: 'broken' })
    expect(await client.skill('refund')).toMatchObject({ body: 'Within 14 days.' })
  })

  test('skills of another source, links, and a root that is itself a skill are not written', async () => {
    using elsewhere = new TemporaryFolder()
    elsewhere.writeSkill('linked')
    using repository = new TemporaryFolder()
    new GitRepository(repository.at('team.git')).commit({ 'fetched/SKILL.md': skillText('fetched') })
    const more = ['--source', `file://${repository.at('team.git')}`, '--root', elsewhere.at('single')]
    elsewhere.writeSkill('single')
    await using server = await startServer(folder => {
      folder.writeSkill('refund')
      mkdirSync(folder.at('half'))
      writeFileSync(folder.at('half.md'), skillText('half'))
      symlinkSync('../half.md', folder.at('half/SKILL.md'))
      symlinkSync(elsewhere.at('linked'), folder.at('linked'))
    }, more)
    const { client } = server.dev
    for (const work of [client.save('fetched', 'x', 'y'), client.remove('fetched'), client.remove('single')])
      await expect(work).rejects.toEqual(failure(409, 'READ_ONLY'))
    expect(existsSync(elsewhere.at('single/SKILL.md'))).toBe(true)
    const text = readFileSync(elsewhere.at('linked/SKILL.md'), 'utf8')
    for (const name of ['linked', 'half']) {
      const error = await client.save(name, text, 'x').catch((thrown: unknown) => thrown)
      expect(error, name).toBeInstanceOf(ApiError)
    }
    expect(readFileSync(elsewhere.at('linked/SKILL.md'), 'utf8')).toBe(text)
    await expect(client.remove('linked')).rejects.toBeInstanceOf(ApiError)
    expect(existsSync(elsewhere.at('linked/SKILL.md'))).toBe(true)
  })

  test('a removed skill leaves the catalog and comes back whole', async () => {
    await using server = await startServer(folder => {
      folder.writeSkill('refund')
      folder.writeSkill('other')
      folder.write('refund/references/limits.md', 'Limits.')
    })
    const { client } = server.dev
    const { trash } = await client.remove('refund')
    expect(existsSync(server.folder.at('refund'))).toBe(false)
    expect(readFileSync(`${trash}/references/limits.md`, 'utf8')).toBe('Limits.')
    expect((await client.skills()).skills.map(({ name }) => name)).toEqual(['other'])

    expect(await client.putBack(trash)).toEqual({ folder: server.folder.at('refund') })
    expect((await client.skills()).skills.map(({ name }) => name)).toEqual(['other', 'refund'])
    expect(readFileSync(server.folder.at('refund/references/limits.md'), 'utf8')).toBe('Limits.')
    await expect(client.putBack(trash)).rejects.toEqual(failure(404, 'NOT_FOUND'))
  })

  test('a skill that "stoke add" copied is removed with "stoke remove" only', async () => {
    using project = new TemporaryFolder()
    const repository = new GitRepository(project.at('team.git'))
    repository.commit({ 'pdf/SKILL.md': skillText('pdf') })
    const place = ['--state', project.at('state')]
    stoke(['add', `file://${repository.directory}`, 'pdf', ...place], { cwd: project.path })
    const root = project.at('skills')
    expect(existsSync(`${root}/pdf`)).toBe(true)
    await using dev = await startDev({
      root,
      state: project.at('state'),
      cwd: project.path,
      args: ['--no-agent'],
    })
    await expect(dev.client.remove('pdf')).rejects.toThrow('run "stoke remove pdf"')
    expect(existsSync(`${root}/pdf`)).toBe(true)
  })

  test('a removed skill does not replace a folder that was created in its place', async () => {
    await using server = await startServer(folder => folder.writeSkill('refund'))
    const { client } = server.dev
    const { trash } = await client.remove('refund')
    server.folder.writeSkill('refund', { body: 'A new one.' })
    await expect(client.putBack(trash)).rejects.toThrow('exists again')
    expect(existsSync(trash)).toBe(true)
    expect(await client.skill('refund')).toMatchObject({ body: 'A new one.' })
  })

  test('a new skill is live at once, and a name that cannot be used is refused', async () => {
    await using server = await startServer(folder => folder.writeSkill('refund'))
    const { client } = server.dev
    const created = await client.create({ name: 'invoice', description: 'Sends invoices. Use for invoices.' })
    expect(created).toMatchObject({ folder: server.folder.at('invoice'), row: { status: 'ok' } })
    await expect(client.create({ name: 'invoice', description: 'Again.' })).rejects.toThrow('exists already')
    await expect(client.create({ name: '../out', description: 'Out.' })).rejects.toBeInstanceOf(ApiError)
    expect(existsSync(server.folder.at('../out'))).toBe(false)
  })

  test('an editor that needs the terminal of the server is not started', async () => {
    await using server = await startServer(folder => folder.writeSkill('refund'), [], {
      VISUAL: '',
      EDITOR: 'vim',
    })
    await expect(server.dev.client.open('refund', 3)).rejects.toThrow(/vim \+3 .*refund\/SKILL\.md/)
  })
})

describe('tests on the page', () => {
  test('a message becomes a test, which words judge without a model', async () => {
    await using server = await startServer(folder => {
      folder.writeSkill('refund', {
        description: 'Decides on refunds. Use when a customer wants money back.',
      })
      folder.writeSkill('parcels', { description: 'Finds parcels. Use when a parcel is late.' })
    })
    const { client } = server.dev
    const { path } = await client.addTest({ skill: 'refund', kind: 'fires', message: 'I want my money back' })
    expect(readFileSync(path, 'utf8')).toContain('I want my money back')
    expect(await client.tests('refund')).toMatchObject({
      model: null,
      cases: [
        { kind: 'fires', message: 'I want my money back', verdict: 'likely', first: 'refund', trial: null },
      ],
    })
    expect((await client.rank('where is my parcel')).skills[0]).toBe('parcels')
    await expect(client.addTest({ skill: 'nobody', kind: 'fires', message: 'x' })).rejects.toBeInstanceOf(
      ApiError,
    )
  })
})

describe('the stream of the page', () => {
  test('skills that compete are named after the change that made them compete', async () => {
    const description = 'Writes release notes. Use when somebody asks to write release notes for a version.'
    await using server = await startServer(folder => {
      folder.writeSkill('notes', { description })
      folder.writeSkill('refund')
    })
    const stream = server.dev.client.events({ signal: AbortSignal.timeout(30_000) })
    server.folder.writeSkill('releases', { description })
    const { attention } = await next(stream, 'attention')
    expect(attention.collisions).toMatchObject([{ skills: [{ name: 'notes' }, { name: 'releases' }] }])
  })

  test('a client is named with its version and what it has loaded', async () => {
    await using server = await startServer(folder => folder.writeSkill('refund'))
    await using client = await startClient('v2 of 2025-11-25', overHttp(server.dev))
    await client.ask('tools/call', { name: 'skill', arguments: { name: 'refund' } })
    const { sessions } = await server.dev.client.sessions()
    expect(sessions).toMatchObject([
      {
        kind: 'mcp',
        client: { name: expect.stringMatching(/\w/), version: expect.stringMatching(/\d/) },
        loaded: [{ name: 'refund' }],
      },
    ])
  })
})

async function next<K extends ServerEvent['kind']>(
  stream: AsyncIterable<ServerEvent>,
  kind: K,
): Promise<Extract<ServerEvent, { kind: K }>> {
  for await (const event of stream) if (event.kind === kind) return event as Extract<ServerEvent, { kind: K }>
  throw new Error('the stream ended before the event')
}
