import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readCode } from './fixtures/read-code.ts'

const CORE = resolve('packages/core')
const exports = readDoors('core')
/** The entry points for every JavaScript runtime. All other entry points of the core are for Node. */
const NEUTRAL = ['.', './source', './internal', './testing', './command']
const NEUTRAL_ENTRIES: readonly string[] = [
  ...NEUTRAL.map(door => join(CORE, exports[door]?.default ?? '')),
  ...Object.values(readDoors('adapters')).flatMap(({ default: file }) =>
    file === undefined ? [] : [resolve('packages/adapters', file)],
  ),
]

function readDoors(name: string): Record<string, { readonly default?: string }> {
  const manifest = readFileSync(resolve('packages', name, 'package.json'), 'utf8')
  return (JSON.parse(manifest) as { exports: Record<string, { readonly default?: string }> }).exports
}

/** Returns every file of the core that an entry point loads, including the entry file. */
function modulesFrom(entry: string, found = new Set<string>()): Set<string> {
  if (found.has(entry)) return found
  found.add(entry)
  const text = readCode(entry)
  for (const [, path] of text.matchAll(/(?:from|import\()\s*['"](\.[^'"]+)['"]/g))
    modulesFrom(resolve(dirname(entry), path ?? ''), found)
  return found
}

test('every entry point is either for all runtimes or for Node', () => {
  const forNode = Object.keys(exports).filter(door => !NEUTRAL.includes(door))
  expect(forNode).toEqual(['./node', './internal/node', './package.json'])
  const files = NEUTRAL_ENTRIES.flatMap(entry => [...modulesFrom(entry)])
  // The list must include shared modules, not only the entry files.
  expect(new Set(files).size).toBeGreaterThan(NEUTRAL_ENTRIES.length)
})

describe.each(NEUTRAL_ENTRIES.map(entry => [relative('packages', entry), entry]))('%s', (_, entry) => {
  test('this entry point imports no Node module', () => {
    const wrong = [...modulesFrom(entry)].filter(path =>
      /(?:from|import\()\s*['"](?:node:|fs|path|crypto)/.test(readCode(path)),
    )
    expect(wrong).toEqual([])
  })

  test('this entry point loads without the globals of Node', () => {
    const run = runBare(`console.log(typeof (await import(${JSON.stringify(entry)})))`)
    expect(run).toEqual({ stderr: '', stdout: 'object' })
  })
})

test('the core works without the globals of Node', () => {
  const at = (door: string): string => JSON.stringify(join(CORE, exports[door]?.default ?? ''))
  const run = runBare(`
    const { createSkillRuntime } = await import(${at('.')})
    const { FileSource, MemoryFileSystem } = await import(${at('./source')})
    const fileSystem = new MemoryFileSystem({ '/skills/pdf/SKILL.md': '---\\nname: pdf\\ndescription: Reads PDF.\\n---\\nRead it.' })
    const skills = await createSkillRuntime({ sources: [new FileSource({ fileSystem, root: '/skills', label: 'skills' })] })
    const { body } = await skills.load('pdf')
    fileSystem.write('/skills/pdf/SKILL.md', '---\\nname: pdf\\ndescription: Reads PDF.\\n---\\nRead it twice.')
    console.log(body, '|', (await skills.load('pdf')).body)
    await skills.close()
  `)
  expect(run).toEqual({ stderr: '', stdout: 'Read it. | Read it twice.' })
})

/** Runs a program without the globals that only Node has. */
function runBare(program: string): { readonly stderr: string; readonly stdout: string } {
  const script = `
    for (const name of ['process', 'Buffer', 'require', 'setImmediate', 'global']) delete globalThis[name]
    ${program}`
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
  return { stderr: run.stderr, stdout: run.stdout.trim() }
}
