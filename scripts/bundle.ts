import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { isAbsolute, join, relative, resolve } from 'node:path'
import { rolldown } from 'rolldown'

// Puts the code of each published package into few files: a process that loads a hundred small modules spends longer on
// that than on its work. `tsc -b` has written the declarations beside them.

interface Manifest {
  readonly private?: boolean
  readonly exports?: Readonly<Record<string, string | { readonly default: string }>>
}

/** Files that are started by their path and not through `exports`. */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  cli: ['main.js'],
  scripts: ['script-worker.js'],
}

/** Programs that may read nothing beside their own folder, and what is loaded late by its name: each is one file. */
const CONTAINED: Readonly<Record<string, readonly string[]>> = {
  core: ['script/define-command.js'],
  cli: ['o200k.js'],
  scripts: ['child/main.js'],
}

/** Packages of which little is used that come along in the code, with their licence, instead of being installed. */
const INLINED: readonly string[] = ['@noble/hashes/', '@oxc-project/runtime/', 'gpt-tokenizer/']

/** Syntax that this runtime does not know, such as `using`, is replaced. */
const OLDEST_RUNTIME = 'node22'

/** The file of a package that holds the values of other packages that it brings along, instead of loading those packages. */
const KNOWN_VALUES = 'known-values.ts'

for (const name of readdirSync('packages')) {
  const folder = join('packages', name)
  const manifest = join(folder, 'package.json')
  if (!existsSync(manifest)) continue
  const { private: isPrivate = false, exports = {} } = readManifest(folder)
  if (isPrivate) continue
  const contained = CONTAINED[name] ?? []
  const doors = Object.values(exports)
    .map(target => (typeof target === 'string' ? target : target.default))
    .flatMap(target => (target.startsWith('./dist/') ? [target.slice('./dist/'.length)] : []))
  const entries = [...doors, ...(PROGRAMS[name] ?? [])].filter(entry => !contained.includes(entry))
  removeCode(join(folder, 'dist'))
  await bundle(folder, entries)
  for (const program of contained) await bundle(folder, [program])
}

/** Writes the code of entries into `dist`; what several of them need comes into files that they share. */
async function bundle(folder: string, entries: readonly string[]): Promise<void> {
  const toSource = (entry: string): string => join(folder, 'src', entry.replace(/\.js$/, '.ts'))
  await using build = await rolldown({
    input: Object.fromEntries(entries.map(entry => [entry.replace(/\.js$/, ''), toSource(entry)])),
    platform: 'node',
    transform: { target: OLDEST_RUNTIME },
    plugins: [{ name: 'known-values', resolveId: (id, importer) => findCopied(folder, id, importer) }],
    // Packages of ours do nothing when they are loaded, and neither does what they need: an import whose names are unused goes.
    treeshake: { moduleSideEffects: false },
    external: (id, importer) =>
      !id.startsWith('.') &&
      !isAbsolute(id) &&
      !id.startsWith('packages') &&
      !INLINED.some(name => id.startsWith(name)) &&
      findCopied(folder, id, importer) === undefined,
  })
  await build.write({
    dir: join(folder, 'dist'),
    format: 'esm',
    sourcemap: true,
    chunkFileNames: '[name]-[hash].js',
  })
}

/** Returns the source of a package of ours that the known values of another, or what they need, are copied from. */
function findCopied(folder: string, id: string, importer: string | undefined): string | undefined {
  const [, name, path = ''] = /^@skillstoke\/([^/]+)(.*)$/.exec(id) ?? []
  if (name === undefined || importer === undefined) return undefined
  const isOwn = importer.startsWith(resolve(folder))
  if (isOwn && importer !== resolve(folder, 'src', KNOWN_VALUES)) return undefined
  const owner = resolve('packages', name)
  const target = readManifest(owner).exports?.[`.${path}`]
  if (typeof target !== 'object') return undefined
  return join(owner, target.default.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts'))
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

/** Removes what an earlier build left; declarations and the page stay. */
function removeCode(dist: string): void {
  if (!existsSync(dist)) return
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && !relative(dist, path).startsWith('page') && /\.js(\.map)?$/.test(path)) rmSync(path)
  }
}
