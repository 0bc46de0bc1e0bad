import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createSkillRuntime } from '@skillstoke/core'
import {
  createNkey,
  FleetConnection,
  FleetReporter,
  FleetStatus,
  fleetSource,
  prepareFleet,
  SkillPublisher,
  writeAccounts,
} from '@skillstoke/fleet'
import { loadAll } from 'js-yaml'
import { Deployment, StatefulSet } from 'kubernetes-models/apps/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { Namespace, Service } from 'kubernetes-models/v1'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { findFreePort, NATS_SERVER, NatsServer } from './fixtures/nats-server.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const CONFIG = resolve('deploy/nats/nats.conf')
const KUBERNETES = 'deploy/kubernetes'
const KINDS = { Deployment, StatefulSet, PodDisruptionBudget, Namespace, Service } as const

interface KubernetesObject {
  readonly kind: keyof typeof KINDS | 'Kustomization'
  readonly metadata?: { readonly name: string }
}

test('the compose file passes a linter without warnings', () => {
  const run = spawnSync('npx', ['dclint', '--max-warnings', '0', 'deploy/compose.yaml'], { encoding: 'utf8' })
  expect(run.stdout.trim()).toBe('')
  expect(run.status).toBe(0)
})

test('the image definition passes a linter', () => {
  const run = spawnSync('npx', ['dockerfilelint', 'deploy/Dockerfile'], { encoding: 'utf8' })
  expect(run.stdout).toContain('Issues: None found')
})

test('the image contains every package that the command line needs', () => {
  const [, list = ''] =
    /for name in ([a-z ]+); do npm pack/.exec(readFileSync('deploy/Dockerfile', 'utf8')) ?? []
  expect(list.split(' ').sort()).toEqual([...listNeeded('cli')].sort())
})

/** Returns a package of this repository and all that it needs, also through others. */
function listNeeded(name: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(name)) return found
  found.add(name)
  const { dependencies } = JSON.parse(readFileSync(`packages/${name}/package.json`, 'utf8')) as {
    dependencies: Record<string, string>
  }
  for (const each of Object.keys(dependencies)) {
    const [, own] = /^@skillstoke\/(.+)$/.exec(each) ?? []
    if (own !== undefined) listNeeded(own, found)
  }
  return found
}

test.each(readdirSync(KUBERNETES).filter(name => name.endsWith('.yaml')))(
  '%s matches the schemas of Kubernetes',
  name => {
    const objects = loadAll(readFileSync(join(KUBERNETES, name), 'utf8')) as readonly KubernetesObject[]
    expect(objects.length).toBeGreaterThan(0)
    for (const each of objects) {
      if (each.kind === 'Kustomization') continue
      const Kind = KINDS[each.kind]
      expect(() => new Kind(each as never).validate(), `${each.kind} ${each.metadata?.name}`).not.toThrow()
    }
  },
)

test('the schemas find a wrong manifest', () => {
  const wrong = { spec: { replicas: 'three' } } as unknown as ConstructorParameters<typeof StatefulSet>[0]
  expect(() => new StatefulSet(wrong).validate()).toThrow(/replicas/)
})

test('the accounts in nats.conf are those that init prints, with one user for each host of agents', () => {
  const text = readFileSync(CONFIG, 'utf8')
  const printed = writeAccounts()
  const [agent = ''] = /^ {6}\{\n {8}nkey: "<agent>".*?\n {6}\}\n/ms.exec(printed) ?? []
  const hosts = [0, 1].map(number =>
    agent.replace('"<agent>"', `$AGENT_${number}_NKEY`).replaceAll('<host>', `skills-${number}`),
  )
  const expected = printed
    .replace(agent, () => hosts.join(''))
    .replace('"<administrator>"', () => '$ADMINISTRATOR_NKEY')
    .replace('"<publisher>"', () => '$PUBLISHER_NKEY')
  const accounts = text.slice(text.indexOf('accounts {')).trim()
  expect(accounts.replace(/jetstream \{.*\}/, 'jetstream: enabled')).toBe(expected)
})

describe.skipIf(NATS_SERVER === undefined)('three servers with nats.conf', () => {
  const seeds: Record<string, string> = {}
  let folder: string
  let servers: NatsServer[]

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'deployment-'))
    createCertificates(folder)
    const keys: Record<string, string> = {}
    const users = {
      administrator: 'ADMINISTRATOR',
      publisher: 'PUBLISHER',
      'skills-0': 'AGENT_0',
      'skills-1': 'AGENT_1',
    }
    for (const [user, variable] of Object.entries(users)) {
      const { seed, publicKey } = createNkey()
      keys[`${variable}_NKEY`] = publicKey
      seeds[user] = seed
    }
    const routes = [await findFreePort(), await findFreePort(), await findFreePort()]
    servers = []
    for (const [index, route] of routes.entries())
      servers.push(
        await NatsServer.startWith(CONFIG, {
          ...keys,
          SERVER_NAME: `nats-${index}`,
          ROUTE_LISTEN: `127.0.0.1:${route}`,
          ...Object.fromEntries(routes.map((port, number) => [`ROUTE_${number}`, `tls://localhost:${port}`])),
          TLS_CERT: join(folder, 'tls.crt'),
          TLS_KEY: join(folder, 'tls.key'),
          TLS_CA: join(folder, 'ca.crt'),
        }),
      )
  })
  afterAll(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true })
  })

  function connectAs(user: string): FleetConnection {
    return new FleetConnection({
      servers: servers.map(({ port }) => `tls://localhost:${port}`),
      credentials: { kind: 'nkey', seed: seeds[user] ?? '' },
      tls: { caFile: join(folder, 'ca.crt') },
      inboxPrefix: `_INBOX_${user}`,
    })
  }

  test('carry a fleet over TLS with three copies, and refuse a stranger', async () => {
    await using administrator = connectAs('administrator')
    await prepareFleet(administrator)
    const engine = await administrator.open()
    expect((await engine.describeStream('KV_SK'))?.config['num_replicas']).toBe(3)
    using skills = new TemporaryFolder()
    skills.writeSkill('maps')
    await using publisher = connectAs('publisher')
    await using agent = connectAs('skills-0')
    await new SkillPublisher(publisher).publish(skills.path)
    const source = fleetSource(agent, { trust: 'auto' })
    await using runtime = await createSkillRuntime({ sources: [source] })
    expect(runtime.current.list().map(({ name }) => name)).toEqual(['maps'])
    await using reporter = new FleetReporter(source, { runtime, host: 'skills-0', agent: 'one' })
    expect(reporter.report.skills).toBe(1)
    const status = new FleetStatus(publisher)
    await vi.waitFor(async () => expect((await status.read()).agents).toMatchObject([{ host: 'skills-0' }]))
    skills.writeSkill('maps', { description: 'Newer.' })
    await new SkillPublisher(publisher).publish(skills.path)
    await vi.waitFor(() => expect(runtime.current.get('maps').description).toBe('Newer.'))

    await using stranger = new FleetConnection({
      servers: `tls://localhost:${servers[0]?.port}`,
      tls: { caFile: join(folder, 'ca.crt') },
    })
    await expect(stranger.open()).rejects.toMatchObject({ code: 'IO_FAILED' })
    await using plain = new FleetConnection({ servers: `nats://127.0.0.1:${servers[0]?.port}` })
    await expect(plain.open()).rejects.toMatchObject({ code: 'IO_FAILED' })
  })
})

/** Creates an authority, and one certificate for all servers. */
function createCertificates(folder: string): void {
  const openssl = (...args: readonly string[]): void => {
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  }
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.crt', '-days', '2', '-subj', '/CN=test')
  openssl('req', ...key, '-keyout', 'tls.key', '-out', 'tls.csr', '-subj', '/CN=localhost')
  writeFileSync(
    join(folder, 'names'),
    'subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n',
  )
  const sign = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'names']
  openssl('x509', '-req', '-in', 'tls.csr', '-out', 'tls.crt', ...sign)
}
