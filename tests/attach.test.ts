import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { AGENT_SDKS } from '../packages/cli/src/commands/agent-sdks.ts'
import { stokeProcess } from './fixtures/cli.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'
import { countGlue } from './sdks/glue.ts'

const EXAMPLES = 'tests/sdks/examples'

interface Attachment {
  readonly sdk: string
  readonly package: string | null
  readonly version: string | null
  readonly install: string | null
  readonly program: string
}

function attach(
  manifest: object | string,
  ...args: string[]
): ReturnType<typeof stokeProcess<readonly Attachment[]>> {
  using folder = new TemporaryFolder()
  folder.write('package.json', typeof manifest === 'string' ? manifest : JSON.stringify(manifest))
  folder.write('node_modules/ai/package.json', '{"name":"ai","version":"7.0.1"}')
  mkdirSync(folder.at('src'))
  return stokeProcess(['attach', ...args], { cwd: folder.at('src') })
}

describe('stoke attach', () => {
  test('prints the program of the page for the SDK in the nearest package.json, as a file that can be saved', () => {
    const { status, stdout } = attach({ dependencies: { ai: '^7.0.0' } })
    expect(status).toBe(0)
    const [found, install, page, usage, empty, ...program] = stdout.split('\n')
    expect(found).toBe('// ai 7.0.1; the adapter is tested with 7.0 and 6.0')
    expect(install).toBe('// npm install @ai-sdk/openai @skillstoke/adapters @skillstoke/core')
    expect(page).toBe('// https://github.com/skillstoke/skillstoke/blob/main/docs/sdks/ai-sdk.md')
    expect(usage).toContain('Set MODEL_URL and MODEL_KEY, and call main().')
    expect([empty, program.join('\n')]).toEqual(['', readFileSync(`${EXAMPLES}/ai-sdk.ts`, 'utf8')])
  })

  test('lists every SDK of a project, and a plain client only if it is the only one', () => {
    const mastra = { '@mastra/core': '1', '@mastra/libsql': '1', '@mastra/memory': '1' }
    const dependencies = {
      '@skillstoke/adapters': '1',
      '@skillstoke/core': '1',
      ai: '7',
      '@ai-sdk/openai': '4',
      ...mastra,
      openai: '7',
    }
    const { json } = attach({ dependencies }, '--json')
    expect(json.map(({ sdk, install }) => [sdk, install])).toEqual([
      ['mastra', null],
      ['ai-sdk', null],
    ])
    const plain = attach({ devDependencies: { '@anthropic-ai/sdk': '1' } }, '--json').json
    expect(plain).toMatchObject([{ sdk: 'loop', package: '@anthropic-ai/sdk', version: null }])
  })

  test('prints the program of a named SDK, and what to install', () => {
    const { json } = attach({}, '@strands-agents/sdk', '--json')
    expect(json).toMatchObject([
      {
        sdk: 'strands',
        package: null,
        install: 'npm install @skillstoke/adapters @skillstoke/core @strands-agents/sdk',
      },
    ])
  })

  test('finds pi by the package of its agents', () => {
    const dependencies = { '@earendil-works/pi-agent-core': '1', '@earendil-works/pi-ai': '1', openai: '7' }
    const { json } = attach({ dependencies }, '--json')
    expect(json).toMatchObject([{ sdk: 'pi', package: '@earendil-works/pi-agent-core' }])
  })

  test('names the adapters if the project uses none of them', () => {
    const { status, stdout } = attach({ dependencies: { express: '5' } })
    expect(status).toBe(1)
    expect(stdout).toContain('uses no agent SDK that has an adapter; name one:')
    for (const { id } of AGENT_SDKS) expect(stdout).toContain(`attach ${id}`)
  })

  test('refuses an unknown SDK and a damaged package.json', () => {
    const unknown = attach({}, 'crewai')
    expect([unknown.status, unknown.stderr]).toEqual([
      2,
      expect.stringContaining('there is no adapter for "crewai"; use one of mastra, langchain, strands,'),
    ])
    const damaged = attach('{')
    expect([damaged.status, damaged.stderr]).toEqual([
      2,
      expect.stringMatching(/package\.json cannot be read: /),
    ])
  })

  test('every program needs at most eight lines besides its imports, as the table of the SDKs counts them', () => {
    const page = readFileSync('docs/agent-sdks.md', 'utf8')
    for (const { id } of AGENT_SDKS) {
      const { imports, lines } = countGlue(`${EXAMPLES}/${id}.ts`)
      expect(lines.length, lines.join('\n')).toBeLessThanOrEqual(8)
      expect([imports, page]).toEqual([3, expect.stringContaining(`(sdks/${id}.md) | ${lines.length} |`)])
    }
  })

  test('every SDK has a program and a page, and every page shows its program', () => {
    expect(readdirSync(EXAMPLES).sort()).toEqual(AGENT_SDKS.map(({ id }) => `${id}.ts`).sort())
    for (const { id } of AGENT_SDKS) {
      const [, shown] = /```ts\n(.*?)```/s.exec(readFileSync(`docs/sdks/${id}.md`, 'utf8')) ?? []
      expect(shown, id).toBe(readFileSync(`${EXAMPLES}/${id}.ts`, 'utf8'))
    }
  })
})
