import { expect, test } from 'vitest'
import { type CliRun, stoke } from './fixtures/cli.ts'
import { overStdio, startClient } from './fixtures/mcp-client.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

interface Usage {
  readonly loads: readonly object[]
  readonly misses: readonly object[]
}

function usage(folder: TemporaryFolder, ...args: string[]): CliRun<Usage> {
  return stoke<Usage>(['usage', '--state', folder.at('state'), ...args], {
    cwd: folder.path,
    env: { NO_COLOR: '1' },
  })
}

test('stoke usage counts the loads of chats and of MCP clients, and searches without a match', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/refund')
  expect(usage(folder).stdout).toBe('nothing was loaded in the last 30 days\n')
  const place = ['--root', folder.at('skills'), '--state', folder.at('state')]
  stoke(['chat', '--ask', 'Use the refund skill.', ...place], { cwd: folder.path })
  for (const kind of ['v1', 'v2 of 2026-07-28'] as const) {
    const target = overStdio(folder.at('skills'), folder.at('state'))
    await using client = await startClient(kind, target)
    await client.ask('tools/call', { name: 'skill', arguments: { name: 'refund' } })
    await client.ask('tools/call', { name: 'skill', arguments: { name: 'quantum physics' } })
  }
  const { loads, misses } = usage(folder, '--json').json
  const [day] = new Date().toISOString().split('T')
  const load = { day, kind: 'load', name: 'refund', revision: expect.stringMatching(/^sha256:/), count: 1 }
  expect(loads).toHaveLength(3)
  expect(loads).toEqual(
    expect.arrayContaining([
      { ...load, client: 'chat' },
      { ...load, client: 'v1' },
      { ...load, client: 'v2' },
    ]),
  )
  const miss = { day, kind: 'miss', name: 'quantum physics', revision: '', count: 1 }
  expect(misses).toHaveLength(2)
  expect(misses).toEqual(
    expect.arrayContaining([
      { ...miss, client: 'v1' },
      { ...miss, client: 'v2' },
    ]),
  )
  expect(usage(folder).stdout).toMatch(
    /^refund {2}3 +\d{4}-\d\d-\d\d {2}\w{8} 3 +.*chat 1.*\n\nsearched without a match\n2 {2}quantum physics\n$/m,
  )
})
