import { readFileSync } from 'node:fs'
import { PRESETS } from '@skillstoke/compat'
import type { ToolDefinition } from '@skillstoke/core'
import { findCapabilityForm } from '@skillstoke/core/internal'
import { verifies } from '@skillstoke/requirements'
import { expect, test } from 'vitest'
import { stoke } from '../fixtures/cli.ts'
import { commandText, openScripts } from '../fixtures/scripts.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

const guide = readFileSync('docs/scripts.md', 'utf8').replace(/\s+/g, ' ')

test(`the guide explains client caches, edits that need a reload, and what to do when a client is stuck ${verifies('OMNI-12', 'OMNI-18', 'OMNI-19', 'OMNI-28')}`, () => {
  for (const sentence of [
    'Clients may cache names, descriptions and parameters of tools',
    'Edit code rather than descriptions and parameters',
    'If you change descriptions or parameters, call `skill.reload`',
    'If a client still shows old descriptions or parameters, restart its session.',
    'Try small changes first.',
    '### Try it by hand',
  ])
    expect(guide).toContain(sentence)
})

test(`every verb, option, tool and capability that the guide names exists ${verifies('OMNI-B08')}`, async () => {
  const help = stoke(['--help']).stdout
  const verbs = new Set([...guide.matchAll(/stoke ([a-z]+)/g)].map(([, verb = '']) => verb))
  for (const verb of verbs) expect(help, verb).toMatch(new RegExp(`^ +${verb}[ |]`, 'm'))
  for (const [verb, option] of [
    ['run', '--watch'],
    ['run', '--input'],
    ['mcp', '--command-tools'],
    ['mcp', '--admin-tools'],
    ['dev', '--sandbox'],
  ] as const)
    expect(stoke([verb, '--help']).stdout).toContain(option)
  const words = [...guide.matchAll(/`((?:net|exec|env:|fs\.)[^`]*)`/g)].map(([, word = '']) => word)
  expect(words.length).toBeGreaterThan(5)
  for (const word of words) expect(findCapabilityForm(word), word).toBeDefined()
  using folder = new TemporaryFolder()
  await using skills = await openScripts(folder.path)
  const tools = [...skills.tools(), ...skills.adminTools()].map(({ name }) => name)
  for (const name of ['run_skill_command', 'run_skill_script', 'skill_reload', 'skill_unload'])
    expect(tools).toContain(name)
})

test(`the preset omni has the values of its design ${verifies('OMNI-20', 'OMNI-21')}`, () => {
  expect(PRESETS.omni).toEqual({
    runtime: { tuning: { settle: { settleMs: 500, burstMs: 500 } } },
    source: {},
    session: {},
    binding: {},
    writer: {},
    mcp: { commandTools: true, adminTools: true, notificationIntervalMs: 1_000 },
  })
})

test('with the resolver of the guide, a bound agent always has the current commands', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('git')
  folder.write('git/scripts/a.js', commandText('one', 'return 1'))
  await using skills = await openScripts(folder.path)
  const tools = new Map<string, ToolDefinition>()
  const agent = {
    addTool: (tool: ToolDefinition) => void tools.set(tool.name, tool),
    removeTool: (name: string) => void tools.delete(name),
  }
  await skills.bind(agent, {
    tools: {
      resolve: async skill => {
        await skills.scripts.ready(skill)
        return skills.commandTools({ scope: { include: [skill.name] } })
      },
    },
  })
  expect([...tools.keys()]).toEqual(['git__one'])
  expect((await tools.get('git__one')?.execute({}))?.text).toBe('1')
  folder.write('git/scripts/a.js', commandText('two', 'return 2'))
  await skills.reload()
  await skills.delivered()
  expect([...tools.keys()]).toEqual(['git__two'])
})
