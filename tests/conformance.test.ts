import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { createAdaptorServer } from '@hono/node-server'
import {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server'
import { createSkillRuntime, MemorySource, type SkillRuntime } from '@skillstoke/core'
import { createSkillsServer, type SkillMcp } from '@skillstoke/mcp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createConformanceHost } from './fixtures/conformance-server.ts'
import { type DevProcess, startDev } from './fixtures/dev.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

// Runs the official conformance suite against the real dev server. The suite cannot send a token, so a proxy adds it.
const SKILL_SCENARIOS = [
  'sep-2640-skills-enumeration',
  'sep-2640-skills-manifest',
  'sep-2640-skills-directory',
]
const VERSIONS = ['2025-11-25', '2026-07-28']

/**
 * Scenarios of the base protocol. The conformance scenarios that are not listed here need tools, prompts or resources
 * with prescribed names.
 */
const BASE_SCENARIOS: Readonly<Record<string, readonly string[]>> = {
  '2025-11-25': [
    'server-initialize',
    'server-session-lifecycle',
    'ping',
    'tools-list',
    'server-sse-multiple-streams',
    'resources-list',
    'resources-subscribe',
    'resources-unsubscribe',
    'prompts-list',
  ],
  '2026-07-28': [
    'tools-list',
    'server-sse-multiple-streams',
    'resources-list',
    'sep-2164-resource-not-found',
    'prompts-list',
    'caching',
    'input-required-result-unsupported-methods',
    'http-header-validation',
  ],
}

const SCENARIOS = VERSIONS.flatMap(version =>
  ['dns-rebinding-protection', ...(BASE_SCENARIOS[version] ?? [])].map(name => [name, version] as const),
)
const EXTENSION_SCENARIOS = VERSIONS.flatMap(version => SKILL_SCENARIOS.map(name => [name, version] as const))

const folder = new TemporaryFolder()
const state = new TemporaryFolder()
let dev: DevProcess
let proxy: ReturnType<typeof createServer>
let url: string

beforeAll(async () => {
  folder.writeSkill('pdf-processing')
  folder.write('pdf-processing/references/FORMS.md', '# Forms\n')
  for (let index = 0; index < 120; index++) folder.writeSkill(`skill-${index}`)
  dev = await startDev({ root: folder.path, state: state.path, args: ['--no-agent'] })
  const { port } = dev.mcpUrl
  proxy = createServer((incoming, outgoing) => {
    // The proxy forwards the headers Host and Origin, but replaces its own port with the port of the server.
    const own = String((proxy.address() as AddressInfo).port)
    const headers = Object.fromEntries(
      Object.entries(incoming.headers).map(([name, value]) =>
        name === 'host' || name === 'origin'
          ? [name, String(value).replace(`:${own}`, `:${port}`)]
          : [name, value],
      ),
    )
    const forward = request(
      {
        host: '127.0.0.1',
        port,
        path: incoming.url,
        method: incoming.method,
        headers: { ...headers, authorization: `Bearer ${dev.token}` },
      },
      response => {
        outgoing.writeHead(response.statusCode ?? 502, response.headers)
        response.pipe(outgoing)
      },
    )
    forward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => forward.destroy())
    incoming.pipe(forward)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`
})

afterAll(async () => {
  proxy.closeAllConnections()
  proxy.close()
  await dev[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
  state[Symbol.dispose]()
})

interface Check {
  readonly id: string
  readonly status: string
}

async function run(...args: readonly string[]): Promise<string> {
  const suite = resolve('node_modules/.bin/conformance')
  const child = spawn(suite, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.on('data', (data: Buffer) => (output += data.toString()))
  child.stderr.on('data', (data: Buffer) => (output += data.toString()))
  await once(child, 'close')
  return output
}

describe('a server that offers only skills', () => {
  /** The outcomes of the checks of each scenario. One process runs all scenarios of a version. */
  const outcomes = new Map<string, readonly string[]>()

  beforeAll(async () => {
    for (const version of VERSIONS) {
      using results = new TemporaryFolder()
      await run('server', '--url', url, '--suite', 'all', '--spec-version', version, '-o', results.path)
      for (const name of readdirSync(results.path)) {
        const checks = JSON.parse(readFileSync(results.at(name, 'checks.json'), 'utf8')) as Check[]
        const scenario = name.replace(/^server-|-\d{4}-\d\d-\d\dT[\d-]+Z$/g, '')
        outcomes.set(
          `${scenario} ${version}`,
          checks.map(({ id, status }) => `${status} ${id}`),
        )
      }
    }
  }, 120_000)

  test.each(SCENARIOS)('passes %s for %s', (scenario, version) => {
    const checks = outcomes.get(`${scenario} ${version}`) ?? []
    expect(checks.filter(check => !/^(?:SUCCESS|SKIPPED|INFO) /.test(check))).toEqual([])
    expect(checks.filter(check => check.startsWith('SUCCESS ')).length).toBeGreaterThan(0)
  })

  test.each(EXTENSION_SCENARIOS)(
    'passes %s for %s',
    async (scenario, version) => {
      const args = ['--scenario', scenario, '--spec-version', version, '--force']
      expect(await run('server', '--url', url, ...args)).toMatch(
        /Passed: ([1-9]\d*)\/\1, 0 failed, 0 warnings/,
      )
    },
    60_000,
  )
})

describe('a host with the fixtures of the suite, and with skills', () => {
  const source = new MemorySource({ label: 'skills' }, [
    { name: 'pdf-processing', description: 'Fills PDFs.', files: { 'references/FORMS.md': '# Forms\n' } },
    ...Array.from({ length: 120 }, (_, index) => ({ name: `skill-${index}`, description: `Does ${index}.` })),
  ])
  let skills: SkillRuntime
  let host: SkillMcp
  let server: ReturnType<typeof createServer>
  let hostUrl: string

  beforeAll(async () => {
    skills = await createSkillRuntime({ sources: [source] })
    host = createSkillsServer(skills, { createServer: () => createConformanceHost(() => host.bus) })
    const fetch = async (request: Request): Promise<Response> =>
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins()) ??
      (await host.fetch(request))
    server = createAdaptorServer({ fetch }) as typeof server
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    hostUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  })

  afterAll(async () => {
    await host.close()
    await skills.close()
    server.closeAllConnections()
    server.close()
  })

  test.each(VERSIONS)(
    'passes every scenario that the specification %s requires',
    async version => {
      const output = await run('server', '--url', hostUrl, '--requirements', version)
      const summary = output.slice(output.indexOf('=== SUMMARY ==='))
      const results = [...summary.matchAll(/^([✓✗]) (\S+): (\d+) passed, (\d+) failed/gm)].map(
        ([, mark, scenario = '', passed]) => ({ mark, scenario, passed: Number(passed) }),
      )
      const unscored = new Set([...summary.matchAll(/^ {2}[✓✗] (\S+) \(/gm)].map(([, scenario]) => scenario))
      const scored = results.filter(({ scenario }) => !unscored.has(scenario))
      const list = await run('list', '--server', '--requirements', version)
      const [, servers = ''] = /Server scenarios[^\n]*\n(.*?)\n\n/s.exec(list) ?? []
      const required = [...servers.matchAll(/^ {2}- (\S+)/gm)].map(([, scenario]) => scenario)
      expect(required.length, list).toBeGreaterThan(20)
      expect(new Set(scored.map(({ scenario }) => scenario)), output).toEqual(new Set(required))
      expect(
        scored.filter(({ mark, passed }) => mark !== '✓' || passed === 0),
        output,
      ).toEqual([])
    },
    120_000,
  )

  test.each(EXTENSION_SCENARIOS)(
    'passes %s for %s',
    async (scenario, version) => {
      const args = ['--scenario', scenario, '--spec-version', version, '--force']
      expect(await run('server', '--url', hostUrl, ...args)).toMatch(
        /Passed: (\d+)\/\1, 0 failed, 0 warnings/,
      )
    },
    60_000,
  )
})

const CLIENT_SCENARIOS = [
  'sep-2640-client-no-prefetch',
  'sep-2640-client-verify-digest',
  'sep-2640-client-verify-size',
  'sep-2640-client-verify-frontmatter',
]

test.each(CLIENT_SCENARIOS)(
  'the MCP source passes %s',
  async scenario => {
    const command = `${process.execPath} ${resolve('tests/fixtures/conformance-client.ts')}`
    const output = await run('client', '--command', command, '--scenario', scenario)
    expect(output).toMatch(/Passed: 1\/1, 0 failed, 0 warnings/)
  },
  60_000,
)
