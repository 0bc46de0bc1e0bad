import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { BIN, stokeBeside } from './fixtures/cli.ts'
import { NATS_SERVER, NatsServer } from './fixtures/nats-server.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

vi.setConfig({ testTimeout: 60_000 })
const LONG = { timeout: 60_000, interval: 50 }

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

describe.skipIf(NATS_SERVER === undefined)('stoke fleet', () => {
  let server: NatsServer
  let folder: TemporaryFolder

  beforeAll(async () => {
    server = await NatsServer.start()
  })
  afterAll(async () => await server[Symbol.asyncDispose]())
  beforeEach(async () => {
    await server.kill('SIGTERM')
    server.eraseData()
    await server.restart()
    folder = new TemporaryFolder()
    const own = folder
    onTestFinished(() => own[Symbol.dispose]())
  })

  function start(args: readonly string[], environment: NodeJS.ProcessEnv = {}): ChildProcess {
    const env = { ...process.env, NO_COLOR: '1', SKILLSTOKE_FLEET: server.url, ...environment }
    return spawn(process.execPath, [BIN, ...args], {
      cwd: folder.path,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }

  async function stoke(args: readonly string[], environment?: NodeJS.ProcessEnv): Promise<Ended> {
    const env = { NO_COLOR: '1', SKILLSTOKE_FLEET: server.url, ...environment }
    const { status, stdout, stderr } = await stokeBeside(args, { cwd: folder.path, env })
    return { code: status, stdout, stderr }
  }

  async function fleet(...args: readonly string[]): Promise<Ended> {
    return await stoke(['fleet', ...args])
  }

  async function readStatus(...args: readonly string[]): Promise<Record<string, unknown>> {
    return JSON.parse((await fleet('status', '--json', ...args)).stdout) as Record<string, unknown>
  }

  /** Starts `stoke dev` with its own state, as on another machine. Ends it with the test. */
  function startDev(...args: readonly string[]): { readonly output: () => string } {
    let output = ''
    const child = start([
      'dev',
      '--verbose',
      '--fleet',
      server.url,
      '--state',
      folder.at('other-machine'),
      '--port',
      '0',
      ...args,
    ])
    child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()))
    onTestFinished(async () => {
      child.kill('SIGTERM')
      await once(child, 'close')
    })
    return { output: () => output }
  }

  test('init creates the streams once, shows the permissions, and changes nothing the second time', async () => {
    const before = await fleet('doctor')
    expect(before.code).toBe(1)
    expect(before.stdout).toContain('the stream KV_SK is missing; run "stoke fleet init"')
    const rehearsal = await fleet('init', '--dry-run')
    expect(rehearsal.stdout).toMatch(/KV_SK +would be created/)
    const first = await fleet('init')
    expect(first.code).toBe(0)
    expect(first.stdout).toMatch(/KV_SK +created/)
    expect(first.stdout).toContain('sk.live.SK.>')
    const second = JSON.parse((await fleet('init', '--json')).stdout) as { steps: { outcome: string }[] }
    expect(second.steps.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 6 }, () => 'unchanged'))
    expect((await fleet('doctor')).code).toBe(0)
  })

  test('publish refuses a skill with a key of a service, and publishes the others', async () => {
    await fleet('init')
    const key = ['ghp', 'kT9wQz3LmX7vRb2NpY5hJc8DfG4sKa6WeU1Z'].join('_')
    folder.writeSkill('skills/maps', { body: 'One.' })
    folder.writeSkill('skills/notes', { body: `<!-- stoke-ignore SECRET_FOUND: fine -->\nUse ${key}.` })
    const { code, stdout } = await fleet('publish')
    expect(code).toBe(1)
    expect(stdout).toMatch(/maps +version 1/)
    expect(stdout).toMatch(/notes.*line \d+, the file contains a key of GitHub/)
    expect(stdout).not.toContain(key)
    folder.writeSkill('skills/notes', { body: 'Use $TOKEN.' })
    expect((await fleet('publish')).stdout).toMatch(/notes +version 1/)
  })

  test('after the loss of all streams, another machine keeps its skills until init --from fills the channel', async () => {
    await fleet('init')
    for (const name of ['maps', 'notes']) folder.writeSkill(`skills/${name}`, { body: 'One.' })
    await fleet('publish')
    startDev('--no-agent')
    await vi.waitFor(async () => expect(await readStatus()).toMatchObject({ agents: [{ held: 2 }] }), LONG)
    await server.kill('SIGKILL')
    server.eraseData()
    await server.restart()
    expect((await fleet('init')).code).toBe(0)
    const waiting = expect.arrayContaining([expect.stringContaining('is not filled')])
    await vi.waitFor(
      async () => expect(await readStatus()).toMatchObject({ agents: [{ held: 2, errors: waiting }] }),
      LONG,
    )
    const { stdout } = await fleet('publish', '--name', 'maps')
    expect(stdout).toContain('note: agents that followed an earlier epoch keep their skills')
    expect(stdout).toContain('removes the skills that DIR does not have')
    expect((await fleet('init', '--from', 'skills', '--dry-run')).code).toBe(2)
    expect((await fleet('init', '--from', 'skills')).stdout).toMatch(/notes +version 1/)
    expect((await fleet('publish')).stdout).not.toContain('note:')
    await vi.waitFor(
      async () => expect(await readStatus()).toMatchObject({ agents: [{ held: 2, errors: [] }] }),
      LONG,
    )
  })

  test('init --from removes nothing, and says what it did not fill', async () => {
    await fleet('init')
    for (const name of ['maps', 'notes']) folder.writeSkill(`skills/${name}`)
    folder.writeSkill('other/maps')
    // No agent waits, so an ordinary publication has no note.
    expect((await fleet('publish')).stdout).not.toContain('note:')
    const refused = await fleet('init', '--from', 'other')
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('has other skills: notes')])
    expect(await readStatus()).toMatchObject({ skills: [{ name: 'maps' }, { name: 'notes' }] })
    folder.write('skills/broken/SKILL.md', '---\nname: broken\n---\n')
    const broken = await fleet('init', '--from', 'skills')
    expect([broken.code, broken.stdout]).toEqual([
      1,
      expect.stringContaining('until the channel stable is filled'),
    ])
    expect((await fleet('init', '--from', 'skills', '--json')).code).toBe(1)
    folder.remove('skills/broken')
    expect((await fleet('init', '--from', 'skills')).code).toBe(0)
    const filled = await fleet('init', '--from', 'skills')
    expect([filled.code, filled.stderr]).toEqual([2, expect.stringContaining('stable is filled already')])
  })

  test('a publication reaches another machine, whose conversation is told at its next step', async () => {
    const key = folder.at('fleet.pem')
    const made = await fleet('key', key, '--json')
    const { publicKey } = JSON.parse(made.stdout) as { publicKey: string }
    expect(statSync(key).mode & 0o777).toBe(0o600)
    const signed = ['--signing-key', key, '--trusted-key', publicKey]
    expect((await fleet('init', ...signed)).code).toBe(0)
    folder.writeSkill('skills/maps', { body: 'Use the atlas.' })
    expect((await fleet('publish', ...signed)).stdout).toMatch(/maps +version 1/)

    const dev = startDev('--trusted-key', publicKey, '--ask', 'Which maps does maps know?')
    await vi.waitFor(() => expect(dev.output()).toContain('turn 1'), LONG)
    const publishing = start(['fleet', 'publish', '--watch', ...signed])
    await once(publishing.stdout ?? publishing, 'data')
    folder.writeSkill('skills/maps', { description: 'Answers questions about maps.', body: 'Use the globe.' })
    await vi.waitFor(() => expect(dev.output()).toMatch(/turn 2/), LONG)
    const ended = once(publishing, 'close')
    publishing.kill('SIGINT')
    expect(await ended).toEqual([130, null])

    await vi.waitFor(async () => {
      const status = await readStatus('--trusted-key', publicKey)
      expect(status).toMatchObject({ skills: [{ name: 'maps', version: 2 }], agents: [{ state: 'current' }] })
    }, LONG)
    // Somebody without the key cannot change what agents serve.
    folder.writeSkill('skills/maps', { description: 'Evil.' })
    expect((await fleet('publish')).stderr).toContain('trust only signed versions; name the signing key')
    const foreign = folder.at('foreign.pem')
    await fleet('key', foreign)
    const refused = await fleet('publish', '--signing-key', foreign, '--trusted-key', publicKey)
    expect(refused.stderr).toContain('is none of the trusted keys')
    expect((await fleet('publish', '--signing-key', foreign)).code).toBe(0)
    await vi.waitFor(async () => {
      const { stdout, code } = await fleet('status', '--trusted-key', publicKey)
      expect(stdout).toContain('it is not signed by a trusted key')
      expect(code).toBe(1)
    }, LONG)
    expect(dev.output()).not.toContain('Evil')
    // The owner of the key publishes over the forged version.
    folder.writeSkill('skills/maps', { description: 'Answers questions about maps.', body: 'Use the chart.' })
    expect((await fleet('publish', ...signed)).stdout).toMatch(/maps +version 4/)
    await vi.waitFor(async () => {
      const { code } = await fleet('status', '--trusted-key', publicKey)
      expect(code).toBe(0)
    }, LONG)
  })

  test('a machine without trusted keys holds new versions for approval, and the status shows it', async () => {
    await fleet('init')
    folder.writeSkill('skills/maps')
    await fleet('publish')
    startDev('--no-agent')
    await vi.waitFor(
      async () => expect(await readStatus()).toMatchObject({ agents: [{ state: 'held', held: 1 }] }),
      LONG,
    )
    const approved = await stoke([
      'approve',
      'maps',
      '--yes',
      '--fleet',
      server.url,
      '--state',
      folder.at('other-machine'),
    ])
    expect(approved.code, approved.stderr).toBe(0)
    await vi.waitFor(
      async () => expect(await readStatus()).toMatchObject({ agents: [{ state: 'current' }] }),
      LONG,
    )
  })

  test('promote, rollback, remove, log and gc work on versions', async () => {
    await fleet('init')
    folder.writeSkill('skills/maps', { body: 'One.' })
    await fleet('publish', '--channel', 'canary', '--note', 'first')
    folder.writeSkill('skills/maps', { body: 'Two.' })
    await fleet('publish', '--channel', 'canary')
    expect((await fleet('promote', '--from', 'canary', '--dry-run')).stdout).toContain('would be published')
    expect((await fleet('log', 'maps')).code).toBe(2)
    expect((await fleet('promote', '--from', 'canary')).stdout).toMatch(/maps +version 1/)
    expect((await fleet('rollback', 'maps', '--channel', 'canary')).stdout).toContain('version 2 -> 3')
    const again = (await fleet('publish', '--channel', 'canary')).stdout
    expect(again).toContain('left as it is')
    expect(again).toContain('canary: 0 changed, 1 unchanged')
    const conflict = await fleet('remove', 'maps', '--channel', 'canary', '--expect', '2')
    expect(conflict.code).toBe(2)
    expect(conflict.stderr).toContain('has version 3, and not the expected version 2')
    expect((await fleet('remove', 'maps', '--channel', 'canary')).code).toBe(0)
    const { stdout } = await fleet('log', 'maps', '--channel', 'canary')
    expect(stdout).toMatch(/^4 .*removed$/m)
    expect(stdout).toMatch(/^3 .*rollback to version 1/m)
    expect(stdout).toMatch(/^1 .*first$/m)
    expect((await fleet('gc', '--keep', '1', '--dry-run')).stdout).toContain('would remove 2 versions')
    expect((await fleet('doctor')).stdout).toContain('no errors')
  })

  test('only verbs that sign need the signing key', async () => {
    await fleet('init')
    folder.writeSkill('skills/maps')
    await fleet('publish')
    const environment = { SKILLSTOKE_FLEET_SIGNING_KEY: folder.at('of-another-machine.pem') }
    const list = ['list', '--fleet', server.url, '--state', folder.at('state')]
    for (const verb of [
      list,
      ['fleet', 'status'],
      ['fleet', 'log', 'maps'],
      ['fleet', 'doctor'],
      ['fleet', 'gc'],
    ]) {
      const { code, stderr } = await stoke(verb, environment)
      expect(stderr, verb.join(' ')).not.toContain('signing key')
      expect(code, verb.join(' ')).toBe(0)
    }
    const { code, stderr } = await stoke(['fleet', 'publish'], environment)
    expect(stderr).toContain('the signing key in')
    expect(code).toBe(2)
  })

  test('while the servers are away, each command says so, and afterwards everything goes on', async () => {
    await fleet('init')
    folder.writeSkill('skills/maps')
    await fleet('publish')
    const dev = startDev('--no-agent')
    await vi.waitFor(async () => expect(await readStatus()).toMatchObject({ agents: [{}] }), LONG)
    await server.kill('SIGKILL')
    await vi.waitFor(() => expect(dev.output()).toContain('does not answer; its last contents stay'), LONG)
    for (const verb of [['status'], ['publish'], ['log', 'maps'], ['doctor']]) {
      const { code, stderr } = await fleet(...verb)
      expect(stderr, verb.join(' ')).toContain('no connection to 127.0.0.1')
      expect(code).toBe(2)
    }
    const publishing = start(['fleet', 'publish', '--watch'])
    let complaint = ''
    publishing.stderr?.on('data', (chunk: Buffer) => (complaint += chunk.toString()))
    await vi.waitFor(() => expect(complaint).toContain('not published yet: no connection'), LONG)
    folder.writeSkill('skills/maps', { body: 'Newer.' })
    await server.restart()
    await vi.waitFor(async () => {
      expect((await fleet('log', 'maps')).stdout).toMatch(/^2 .* current$/m)
      expect(await readStatus()).toMatchObject({ skills: [{ version: 2 }], agents: [{ state: 'held' }] })
    }, LONG)
    const ended = once(publishing, 'close')
    publishing.kill('SIGINT')
    expect(await ended).toEqual([130, null])
  })

  test('a broken skill is refused and its last version stays', async () => {
    await fleet('init')
    folder.writeSkill('skills/maps')
    folder.writeSkill('skills/notes')
    await fleet('publish')
    folder.write('skills/maps/SKILL.md', 'This text has no description.')
    folder.writeSkill('skills/notes', { body: 'Newer.' })
    const { code, stdout } = await fleet('publish', '--mirror')
    expect(code).toBe(1)
    expect(stdout).toContain('refused maps')
    expect(await readStatus()).toMatchObject({
      skills: [
        { name: 'maps', version: 1 },
        { name: 'notes', version: 2 },
      ],
    })
  })

  test('--prefetch publishes a version when every agent has its files', async () => {
    await fleet('init')
    folder.writeSkill('skills/maps', { body: 'One.' })
    await fleet('publish')
    startDev('--no-agent')
    await vi.waitFor(async () => expect(await readStatus()).toMatchObject({ agents: [{}] }), LONG)
    folder.writeSkill('skills/maps', { body: 'Two.' })
    expect((await fleet('publish', '--prefetch')).stdout).toContain('version 1 -> 2')
    expect(await readStatus()).toMatchObject({ skills: [{ version: 2 }] })
  })

  test('wrong usage says what would be right', async () => {
    const cases: readonly [args: readonly string[], message: string][] = [
      [['publish', './nothing'], 'there is no folder "./nothing"'],
      [['publish', '--channel', 'No Channel'], 'the channel "No Channel" is not valid'],
      [['status', '--fleet', 'http://x'], 'use nats://host:4222'],
      [['status', '--trusted-key', 'abc'], 'use "ed25519:"'],
      [['init', '--signing-key', 'missing.pem'], 'cannot be read'],
      [['publish', '--watch', '--dry-run'], '--watch does not go together'],
      [['publish', '--watch', '--prefetch'], '--watch does not go together'],
      [['publish', '--mirror', '--expect', '1'], '--mirror does not go together'],
      [['init', '--replicas', '3'], 'runs alone; use 1'],
      [['log', 'maps'], 'fleet init"'],
      [['publish'], 'fleet init"'],
      [['status'], 'fleet init"'],
    ]
    folder.writeSkill('skills/maps')
    for (const [args, message] of cases) {
      const { code, stderr } = await fleet(...args)
      expect(stderr, args.join(' ')).toContain(message)
      expect(code).toBe(2)
    }
    const { stderr } = await stoke(['fleet', 'status'], { SKILLSTOKE_FLEET: '' })
    expect(stderr).toContain('name a server with --fleet')
    await fleet('key', folder.at('k.pem'))
    const before = readFileSync(folder.at('k.pem'), 'utf8')
    expect((await fleet('key', folder.at('k.pem'))).stderr).toContain('keys are never overwritten')
    expect(readFileSync(folder.at('k.pem'), 'utf8')).toBe(before)
    expect(existsSync(folder.at('nothing'))).toBe(false)
  })
})
