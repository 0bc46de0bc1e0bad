import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>
}

interface EntryPoint {
  readonly name: string
  /** The text of the declaration file. */
  readonly text: string
}

const entryPoints = readdirSync('packages').flatMap((folder): EntryPoint[] => {
  const manifest = JSON.parse(readFileSync(join('packages', folder, 'package.json'), 'utf8')) as Manifest
  if (manifest.private === true) return []
  return Object.entries(manifest.exports).flatMap(([key, target]) =>
    typeof target === 'string'
      ? []
      : [
          {
            name: `${manifest.name}${key.slice(1)}`,
            text: readFileSync(join('packages', folder, target.types), 'utf8'),
          },
        ],
  )
})

/** Returns every exported name. The names of types get the prefix "type ". */
function namesOf({ text }: EntryPoint): string[] {
  const whole = [...text.matchAll(/^export \* from '([^.'][^']*)'/gm)].flatMap(([, name]) =>
    entryPoints.filter(each => each.name === name).flatMap(namesOf),
  )
  const listed = [...text.matchAll(/^export (type )?\{([^}]*)\}/gm)].flatMap(([, type = '', list = '']) =>
    list
      .split(',')
      .map(each => each.trim())
      .filter(each => each !== '')
      .map(each => `${type !== '' || each.startsWith('type ') ? 'type ' : ''}${each.split(' ').at(-1)}`),
  )
  const declared = [
    ...text.matchAll(/^export (?:declare )?(interface|type|function|class|const) (\w+)/gm),
  ].map(([, kind, name]) => `${kind === 'interface' || kind === 'type' ? 'type ' : ''}${name}`)
  return [...whole, ...listed, ...declared].sort()
}

// Update the snapshot only if you change the public API on purpose.
describe.each(entryPoints)('the exported names of $name', entryPoint => {
  const names = namesOf(entryPoint)

  test('match the snapshot', () => {
    expect(names).toMatchSnapshot()
  })

  test('the declarations and the module export the same names', async () => {
    const module = (await import(entryPoint.name)) as Record<string, unknown>
    expect(names.filter(name => !name.startsWith('type '))).toEqual(Object.keys(module).sort())
  })
})

test.each(['adapters', 'agent', 'author', 'compat', 'fleet', 'mcp', 'scripts', 'sources'])(
  'the declarations of %s never mention internal types of the core',
  folder => {
    const dist = join('packages', folder, 'dist')
    const declarations = readdirSync(dist, { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.d.ts'))
      .map(file => ({ file, text: readFileSync(join(dist, file), 'utf8') }))
    expect(declarations.length).toBeGreaterThan(0)
    expect(declarations.filter(({ text }) => text.includes('@skillstoke/core/internal'))).toEqual([])
  },
)

/** The largest number of names behind each entry point. A name replaces a name. */
const BOUNDS: Readonly<Record<string, number>> = {
  '@skillstoke/core': 90,
  '@skillstoke/core/source': 83,
  '@skillstoke/core/node': 18,
  '@skillstoke/core/command': 8,
  '@skillstoke/core/testing': 9,
  '@skillstoke/core/internal': 137,
  '@skillstoke/core/internal/node': 9,
  '@skillstoke/adapters/ai-sdk': 7,
  '@skillstoke/adapters/openai-agents': 5,
  '@skillstoke/adapters/langchain': 3,
  '@skillstoke/adapters/claude-agent-sdk': 6,
  '@skillstoke/adapters/mastra': 3,
  '@skillstoke/adapters/strands': 3,
  '@skillstoke/adapters/pi': 4,
  '@skillstoke/adapters/copilot': 3,
  '@skillstoke/adapters/loop': 16,
  '@skillstoke/agent': 26,
  '@skillstoke/agent/testing': 1,
  '@skillstoke/author': 56,
  '@skillstoke/author/trials': 23,
  '@skillstoke/author/lsp': 3,
  '@skillstoke/author/internal': 20,
  '@skillstoke/compat': 33,
  '@skillstoke/fleet': 26,
  '@skillstoke/mcp': 9,
  '@skillstoke/mcp/source': 3,
  '@skillstoke/mcp/auth': 5,
  '@skillstoke/scripts': 7,
  '@skillstoke/sources': 13,
  'skillstoke/client': 5,
}

/** Entry points that export the same names as another entry point. */
const SAME: Readonly<Record<string, string>> = { 'skillstoke/command': '@skillstoke/core/command' }

describe('the entry points', () => {
  test('each export at most as many names as the bound', () => {
    const counts = entryPoints.map(door => [door.name, namesOf(door).length] as const)
    expect(counts.map(([door]) => door).sort()).toEqual([...Object.keys(BOUNDS), ...Object.keys(SAME)].sort())
    expect(counts.filter(([door, count]) => count > (BOUNDS[SAME[door] ?? door] ?? 0))).toEqual([])
  })

  test('of the core share no name', () => {
    const doors = entryPoints.filter(({ name }) => name.startsWith('@skillstoke/core'))
    const all = doors.flatMap(door => namesOf(door).map(name => name.replace('type ', '')))
    expect(all.length).toBeGreaterThan(200)
    expect(all.filter((name, index) => all.indexOf(name) !== index)).toEqual([])
  })

  test('with the same names have equal declarations', () => {
    for (const [door, other] of Object.entries(SAME))
      expect(entryPoints.find(({ name }) => name === door)?.text).toContain(`export * from '${other}'`)
  })
})
