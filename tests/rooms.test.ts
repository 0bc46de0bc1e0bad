import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { verifies } from '@skillstoke/requirements'
import { expect, test } from 'vitest'

// The walls of the core: which room may import which. Changing the architecture means changing this table.
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  skill: [],
  fs: ['skill'],
  store: ['skill'],
  source: ['skill', 'fs', 'store'],
  registry: ['skill', 'store'],
  catalog: ['skill', 'registry'],
  activation: ['skill', 'store', 'registry', 'catalog'],
  tool: ['skill', 'registry', 'catalog', 'activation'],
  script: ['skill', 'store', 'registry', 'catalog', 'activation', 'tool'],
  session: ['skill', 'store', 'registry', 'catalog', 'activation', 'tool'],
  sync: ['skill', 'source', 'store', 'registry'],
  authoring: ['skill', 'fs', 'source', 'tool'],
  binding: ['skill', 'registry', 'catalog', 'tool'],
  history: ['skill', 'store', 'registry'],
  events: ['skill', 'registry', 'history', 'script'],
  runtime: [
    'skill',
    'fs',
    'store',
    'source',
    'registry',
    'catalog',
    'activation',
    'session',
    'tool',
    'script',
    'sync',
    'authoring',
    'binding',
    'history',
    'events',
  ],
}
// Known to every room, and knowing none.
const EVERYWHERE = ['errors', 'host']
// Outside the walls: they see the public index only, as a third party would.
const OUTSIDE = ['node', 'testing']

const SRC = resolve('packages/core/src')

interface Import {
  readonly file: string
  readonly room: string
  readonly target: string
}

function listSources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return listSources(path)
    return entry.name.endsWith('.ts') && !/\.(test|test-d|d)\.ts$/.test(entry.name) ? [path] : []
  })
}

function listImports(): Import[] {
  return listSources(SRC).flatMap(file => {
    const text = readFileSync(file, 'utf8')
    const room = relative(SRC, file).split('/')[0]?.replace(/\.ts$/, '') ?? ''
    return [...text.matchAll(/from '(\.[^']+)'/g)].map(match => {
      const path = relative(SRC, resolve(dirname(file), match[1] ?? ''))
      const target = path.split('/')[0]?.replace(/\.ts$/, '') ?? ''
      return { file: relative(SRC, file), room, target }
    })
  })
}

test('every folder of the core is a room of the table', () => {
  const folders = readdirSync(SRC, { withFileTypes: true }).filter(entry => entry.isDirectory())
  expect(folders.map(folder => folder.name).sort()).toEqual([...Object.keys(ROOMS), ...OUTSIDE].sort())
})

test(`rooms import only what the table allows ${verifies('EXO-09')}`, () => {
  const imports = listImports()
  expect(imports.length).toBeGreaterThan(100)
  const wrong = imports.filter(({ room, target }) => {
    if (room === target || room === 'index') return false
    if (OUTSIDE.includes(room)) return target !== 'index'
    if (EVERYWHERE.includes(room)) return !EVERYWHERE.includes(target)
    return !(ROOMS[room]?.includes(target) || EVERYWHERE.includes(target))
  })
  expect(wrong).toEqual([])
})
