import { readdirSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { verifies } from '@skillstoke/requirements'
import { expect, test } from 'vitest'
import { readCode } from './fixtures/read-code.ts'

// The rooms that each room of the core may import. To change the architecture, change this table.
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  skill: [],
  fs: ['skill'],
  store: ['skill'],
  source: ['skill', 'fs', 'store'],
  registry: ['skill', 'store'],
  catalog: ['skill', 'registry'],
  sync: ['skill', 'source', 'store', 'registry'],
  reader: ['skill', 'source', 'store', 'registry', 'catalog', 'sync'],
  activation: ['skill', 'registry', 'catalog', 'reader'],
  tool: ['skill', 'registry', 'catalog', 'reader', 'activation'],
  history: ['skill', 'store', 'registry', 'reader'],
  script: ['skill', 'store', 'registry', 'reader', 'activation', 'history', 'tool'],
  session: ['skill', 'registry', 'catalog', 'reader', 'activation', 'tool'],
  authoring: ['skill', 'fs', 'source', 'registry', 'reader', 'sync', 'tool'],
  binding: ['skill', 'registry', 'catalog', 'reader', 'tool'],
  events: ['skill', 'registry', 'history', 'script', 'tool'],
  runtime: [
    'skill',
    'fs',
    'store',
    'source',
    'registry',
    'catalog',
    'reader',
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
  answers: ['skill', 'source', 'registry', 'catalog', 'reader', 'history', 'sync', 'script', 'runtime'],
}
// Files that every room may import. These files import no room themselves.
const EVERYWHERE = [
  'assert-supported',
  'errors',
  'host',
  'options',
  'edit-distance',
  'quote',
  'is-inside',
  'defined',
  'listeners',
  'turns',
]
// Rooms that import the entry points, as other packages do, and the rooms in the list.
const OUTSIDE: Readonly<Record<string, readonly string[]>> = {
  disk: ['fs'],
  state: ['disk', 'history'],
  telemetry: [],
  testing: [],
}
const ENTRY_POINTS = ['index', 'source-entry', 'internal-entry']
const NODE_ENTRY_POINTS = ['node-entry', 'internal-node-entry']
// The entry points of the core. Hosts, pages and examples use only the public entry points. Packages of this repository
// may also use the internal entry points.
const PUBLIC_DOORS = ['', '/source', '/node', '/command', '/testing']
const INTERNAL_DOORS = ['/internal', '/internal/node']
// The packages that each package may import.
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  core: [],
  adapters: ['core'],
  sources: ['core'],
  scripts: ['core'],
  compat: ['core', 'scripts', 'sources'],
  agent: ['core', 'adapters'],
  author: ['core', 'agent'],
  mcp: ['core', 'sources'],
  fleet: ['core'],
  cli: ['core', 'sources', 'scripts', 'agent', 'author', 'mcp', 'fleet'],
  dashboard: ['core', 'cli'],
}

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
    return /\.tsx?$/.test(entry.name) && !/\.(test|test-d|d)\.ts$/.test(entry.name) ? [path] : []
  })
}

function listImports(): Import[] {
  return listSources(SRC).flatMap(file => {
    const text = readCode(file)
    const room = relative(SRC, file).split('/')[0]?.replace(/\.ts$/, '') ?? ''
    return [...text.matchAll(/from '(\.[^']+)'/g)].map(match => {
      const path = relative(SRC, resolve(dirname(file), match[1] ?? ''))
      const target = path.split('/')[0]?.replace(/\.ts$/, '') ?? ''
      return { file: relative(SRC, file), room, target }
    })
  })
}

test('every folder of the core is a room in the table', () => {
  const folders = readdirSync(SRC, { withFileTypes: true }).filter(entry => entry.isDirectory())
  expect(folders.map(folder => folder.name).sort()).toEqual(
    [...Object.keys(ROOMS), ...Object.keys(OUTSIDE)].sort(),
  )
})

test(`rooms import only what the table allows ${verifies('EXO-09')}`, () => {
  const imports = listImports()
  expect(imports.length).toBeGreaterThan(100)
  const wrong = imports.filter(({ room, target }) => {
    if (room === target || [...ENTRY_POINTS, ...NODE_ENTRY_POINTS].includes(room)) return false
    const outside = OUTSIDE[room]
    if (outside) return ![...ENTRY_POINTS, ...EVERYWHERE, ...outside].includes(target)
    if (EVERYWHERE.includes(room)) return !EVERYWHERE.includes(target)
    return !(ROOMS[room]?.includes(target) || EVERYWHERE.includes(target))
  })
  expect(wrong).toEqual([])
})

test('the command line has only its two entry points beside its rooms', () => {
  const files = readdirSync('packages/cli/src', { withFileTypes: true }).filter(entry => entry.isFile())
  expect(files.map(({ name }) => name).sort()).toEqual(['command.ts', 'main.ts'])
})

/** Returns every import of our packages in source files, and in the code fences of pages. */
function listPackageImports(files: readonly string[]): { readonly file: string; readonly name: string }[] {
  return files.flatMap(file =>
    [
      ...readCode(file).matchAll(
        /(?:from|import|import\()\s*['"]((?:@skillstoke\/|skillstoke\/)[^'"]+)['"]/g,
      ),
    ].map(match => ({ file, name: match[1] ?? '' })),
  )
}

function listPages(): string[] {
  const pages = readdirSync('docs').filter(name => name.endsWith('.md'))
  return [...pages.map(name => join('docs', name)), 'README.md', 'CONTRIBUTING.md', 'ARCHITECTURE.md']
}

test('every package is in the table', () => {
  expect(readdirSync('packages').sort()).toEqual(Object.keys(PACKAGES).sort())
})

test('packages import only the entry points of lower packages, never a path inside them', () => {
  const imports = Object.keys(PACKAGES).flatMap(own =>
    listPackageImports(listSources(join('packages', own, 'src'))).map(each => ({ ...each, own })),
  )
  expect(imports.length).toBeGreaterThan(100)
  const wrong = imports.filter(({ own, name }) => {
    // Skill scripts import this package name. The tests contain such scripts as strings.
    if (name === 'skillstoke/command') return false
    const [, target = 'cli', path = ''] = /^@skillstoke\/([^/]+)(.*)$/.exec(name) ?? []
    if (!PACKAGES[own]?.includes(target)) return true
    return target === 'core' && ![...PUBLIC_DOORS, ...INTERNAL_DOORS].includes(path)
  })
  expect(wrong).toEqual([])
  const inside = Object.keys(PACKAGES).flatMap(own => {
    const folder = resolve('packages', own)
    return listSources(join(folder, 'src')).flatMap(file =>
      [...readCode(file).matchAll(/from '(\.[^']+)'/g)]
        .map(match => resolve(dirname(file), match[1] ?? ''))
        .filter(path => !path.startsWith(`${folder}/`))
        .map(path => ({ file, path })),
    )
  })
  expect(inside).toEqual([])
})

test('examples and pages use no internal entry point', () => {
  const imports = listPackageImports([...listSources('examples'), ...listPages()])
  expect(imports.length).toBeGreaterThan(30)
  expect(imports.filter(({ name }) => name.includes('/internal'))).toEqual([])
})
