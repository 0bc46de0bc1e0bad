import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../../../../tests/fixtures/skill-folder.ts'
import { type ConfigFlags, resolveConfig } from '../config/config.ts'
import { toMcpCommand, toNpxCommand } from './mcp-setup.ts'

const NO_TOOLS = { isVerbose: false, commandTools: false, adminTools: false, authorTools: false }

test('clients on Windows start npx through cmd', () => {
  expect(toNpxCommand(['-y', 'skillstoke'], 'win32')).toEqual({
    command: 'cmd',
    args: ['/c', 'npx', '-y', 'skillstoke'],
  })
  expect(toNpxCommand(['-y', 'skillstoke'], 'darwin')).toEqual({ command: 'npx', args: ['-y', 'skillstoke'] })
})

test('the command for MCP clients names only those default roots that exist, but every root that the user named', async () => {
  using folder = new TemporaryFolder()
  const before = process.cwd()
  folder.writeSkill('skills/pdf')
  process.chdir(folder.path)
  const rootsIn = async (flags: ConfigFlags): Promise<number> => {
    const { args } = toMcpCommand(await resolveConfig(flags, { HOME: folder.path }), NO_TOOLS)
    expect(args[args.indexOf('--root') + 1]).toBe(folder.at('skills'))
    return args.filter(arg => arg === '--root').length
  }
  try {
    expect(await rootsIn({ root: ['skills', 'later'] })).toBe(2)
    const { roots } = await resolveConfig({}, {})
    expect(await rootsIn({})).toBe(roots.filter(({ path }) => existsSync(path)).length)
    expect(roots.length).toBeGreaterThan(await rootsIn({}))
  } finally {
    process.chdir(before)
  }
})
