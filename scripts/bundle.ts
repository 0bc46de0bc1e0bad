import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { isAbsolute, join, relative } from 'node:path'
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

/** Programs that may read nothing beside their own folder, so that each is one file. */
const CONTAINED: Readonly<Record<string, readonly string[]>> = {
  core: ['script/define-command.js'],
  scripts: ['child/main.js'],
}

for (const name of readdirSync('packages')) {
  const folder = join('packages', name)
  const manifest = join(folder, 'package.json')
  if (!existsSync(manifest)) continue
  const { private: isPrivate = false, exports = {} } = JSON.parse(readFileSync(manifest, 'utf8')) as Manifest
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
    external: id => !id.startsWith('.') && !isAbsolute(id) && !id.startsWith('packages'),
  })
  await build.write({
    dir: join(folder, 'dist'),
    format: 'esm',
    sourcemap: true,
    chunkFileNames: '[name]-[hash].js',
  })
}

/** Removes what an earlier build left; declarations and the page stay. */
function removeCode(dist: string): void {
  if (!existsSync(dist)) return
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && !relative(dist, path).startsWith('page') && /\.js(\.map)?$/.test(path)) rmSync(path)
  }
}
