import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, isAbsolute, join, relative, resolve } from 'node:path'
import { rolldown } from 'rolldown'
import { describeLicenses, LICENSES } from './licenses.ts'

// Bundles the code of each published package into few files, because loading a hundred small modules takes longer than the
// rest of a short command. `tsc -b` writes the declaration files into the same folder.

interface Manifest {
  readonly private?: boolean
  readonly exports?: Readonly<Record<string, string | { readonly default: string }>>
}

/** Files that are started by their path and are not in the `exports` of their package. */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  cli: ['main.js'],
  scripts: ['script-worker.js'],
}

/** Each of these entries must be one file without imports of shared files. Some entries run in processes that may read only one folder. Other entries are imported by file name while a program runs. */
const CONTAINED: Readonly<Record<string, readonly string[]>> = {
  core: ['script/define-command.js'],
  cli: ['skills/o200k.js'],
  scripts: ['child/main.js'],
}

/** Entries that contain mostly data. Their source map would be larger than their code, so they have no source map. */
const UNMAPPED: Readonly<Record<string, readonly string[]>> = {
  cli: ['skills/o200k.js'],
}

/** Packages of which we use only a small part. The bundle contains a copy of that part, and the licence of the package. */
const INLINED: readonly string[] = ['@noble/hashes/', '@oxc-project/runtime/', 'gpt-tokenizer/']

/** The oldest supported version of Node. The bundler replaces syntax that this version does not know, for example `using`. */
const OLDEST_RUNTIME = 'node22'

/** A source file that imports values from other packages. The bundle contains copies of these values, and does not import them. */
const KNOWN_VALUES = 'config/known-values.ts'

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
  const modules = await bundle(folder, entries)
  for (const program of contained) modules.push(...(await bundle(folder, [program])))
  const licenses = describeLicenses(modules)
  if (licenses !== '') writeFileSync(join(folder, 'dist', LICENSES), licenses)
}

copyPrograms()

/** Copies the programs that `stoke attach` prints. The pages in `docs/sdks` show the same programs, and the tests run them. */
function copyPrograms(): void {
  const [from, to] = ['tests/sdks/examples', 'packages/cli/dist/attach']
  rmSync(to, { recursive: true, force: true })
  mkdirSync(to, { recursive: true })
  for (const file of readdirSync(from))
    copyFileSync(join(from, file), join(to, file.replace(/\.ts$/, '.txt')))
}

/** Writes the code of the entries into `dist`. Code that several entries use goes into shared files. Returns the ids of the bundled modules. */
async function bundle(folder: string, entries: readonly string[]): Promise<string[]> {
  const toSource = (entry: string): string => join(folder, 'src', entry.replace(/\.js$/, '.ts'))
  await using build = await rolldown({
    input: Object.fromEntries(entries.map(entry => [entry.replace(/\.js$/, ''), toSource(entry)])),
    platform: 'node',
    transform: { target: OLDEST_RUNTIME },
    plugins: [{ name: 'known-values', resolveId: (id, importer) => findCopied(folder, id, importer) }],
    // Remove unused imports, because importing our packages or their dependencies has no side effects.
    treeshake: { moduleSideEffects: false },
    external: (id, importer) =>
      !id.startsWith('.') &&
      !isAbsolute(id) &&
      !id.startsWith('packages') &&
      !INLINED.some(name => id.startsWith(name)) &&
      findCopied(folder, id, importer) === undefined,
  })
  const isData = entries.some(entry => UNMAPPED[basename(folder)]?.includes(entry))
  const { output } = await build.write({
    dir: join(folder, 'dist'),
    format: 'esm',
    sourcemap: !isData,
    // Omit docstrings here, because the declaration files contain them.
    comments: { jsdoc: false },
    chunkFileNames: '[name]-[hash].js',
  })
  const chunks = output.filter(file => file.type === 'chunk')
  // A line for each of 200,000 items makes the file a fifth larger.
  if (isData)
    for (const { fileName, code } of chunks)
      writeFileSync(join(folder, 'dist', fileName), code.replaceAll(/,\n\t+(?=["'\d[])/g, ','))
  return chunks.flatMap(({ moduleIds }) => moduleIds)
}

/** Returns the source file of an import if the bundle must contain a copy of the imported code. This applies to imports in `KNOWN_VALUES`, and to the modules that these imports need. */
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

/** Removes the code of an earlier build, but keeps declarations and the page of the dev server. */
function removeCode(dist: string): void {
  if (!existsSync(dist)) return
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && !relative(dist, path).startsWith('page') && /\.js(\.map)?$/.test(path)) rmSync(path)
  }
}
