import { lstat, readdir, realpath } from 'node:fs/promises'
import { join, resolve, sep } from 'node:path'
import { type Diagnostic, SkillError } from '@skillstoke/core'
import { checkOptions, type KnownOptions, quote } from '@skillstoke/core/internal'
import { NodeFileSystem, nodeHasher } from '@skillstoke/core/node'
import { RemoteSource, type SkillSource, type TreeFetcher, type TreeFile } from '@skillstoke/core/source'
import { REMOTE_OPTIONS, type RemoteOptions } from './remote-options.ts'

export interface NpmPackagesOptions extends RemoteOptions {
  /** Name of the source in digests and messages. @default 'npm' */
  readonly label?: string
  /** Names of the packages to read. @default all installed packages */
  readonly packages?: readonly string[]
}

const KNOWN: KnownOptions<NpmPackagesOptions> = { label: true, packages: true, ...REMOTE_OPTIONS }

const DISK = new NodeFileSystem()
const MAX_FILES = 20_000
const MAX_DEPTH = 12
const DEFAULT_POLL_MS = 60_000
// Folders with these names do not belong to the package that contains them.
const LEFT_OUT: ReadonlySet<string> = new Set(['node_modules', '.git'])

/**
 * Returns a source for the skills of installed npm packages, which are in `node_modules/<package>/skills`. The source
 * never installs a package or runs code. The source notices a new installation within a minute, or at `reload()`.
 *
 * @example
 * ```ts
 * import { cp } from 'node:fs/promises'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { npmPackages } from '@skillstoke/sources'
 *
 * await cp('skills', 'node_modules/forms/skills', { recursive: true }) // as an installation does
 * await using skills = await createSkillRuntime({ sources: [npmPackages('.', { packages: ['forms'] })] })
 * console.log(skills.review.pending().map(({ name, location }) => `${name}: ${location}`))
 * // prints [ 'support-pdf: forms/support-pdf' ]
 * ```
 */
export function npmPackages(projectFolder: string, options: NpmPackagesOptions = {}): SkillSource {
  checkOptions('npmPackages()', options, KNOWN)
  if (projectFolder.trim() === '')
    throw new SkillError('INVALID_OPTION', 'the path of the project is empty; use for example "."')
  const { label, packages, ...remote } = options
  const folder = join(resolve(projectFolder), 'node_modules')
  return new RemoteSource(createFetcher(folder, packages), {
    pollMs: DEFAULT_POLL_MS,
    ...remote,
    label: label ?? 'npm',
    origin: folder,
  })
}

function createFetcher(folder: string, wanted: readonly string[] | undefined): TreeFetcher {
  return {
    // Reading the installed packages is as fast as restoring an earlier copy.
    restore: async () => undefined,
    async fetch({ known, signal }) {
      const files: TreeFile[] = []
      for (const name of await listPackages(folder, wanted)) {
        signal.throwIfAborted()
        const root = await realFolder(join(folder, name))
        const skills = root === undefined ? undefined : await realFolder(join(root, 'skills'))
        // Links to targets outside the package are not followed, because such a target does not belong to the package.
        if (root === undefined || skills === undefined || !skills.startsWith(root + sep)) continue
        await walk({ root: skills, prefix: name, files }, skills, '')
      }
      const version = nodeHasher.sha256(JSON.stringify(files.map(({ path, id }) => [path, id])))
      const notices = await findMissing(folder, wanted ?? [])
      return known?.version === version ? { notices } : { tree: { version, files }, notices }
    },
  }
}

async function findMissing(folder: string, wanted: readonly string[]): Promise<Diagnostic[]> {
  const common = { code: 'ROOT_MISSING', severity: 'warning', path: folder } as const
  if ((await realFolder(folder)) === undefined) {
    const fix = 'run npm install, or name the folder that has node_modules'
    return [{ ...common, message: 'no packages are installed; the source waits for the folder', fix }]
  }
  const missing: Diagnostic[] = []
  for (const name of wanted) {
    if ((await realFolder(join(folder, name))) !== undefined) continue
    const message = `the package ${quote(name)} is not installed; the source waits for it`
    missing.push({ ...common, message, fix: 'install it, or correct the name' })
  }
  return missing
}

async function listPackages(
  folder: string,
  wanted: readonly string[] | undefined,
): Promise<readonly string[]> {
  const names: string[] = []
  for (const name of await listFolder(folder)) {
    if (name.startsWith('.')) continue
    if (name.startsWith('@')) {
      for (const scoped of await listFolder(join(folder, name))) names.push(`${name}/${scoped}`)
    } else names.push(name)
  }
  return (wanted === undefined ? names : names.filter(name => wanted.includes(name))).sort()
}

async function walk(
  found: { readonly root: string; readonly prefix: string; readonly files: TreeFile[] },
  folder: string,
  within: string,
): Promise<void> {
  if (within.split('/').length > MAX_DEPTH) return
  for (const name of (await listFolder(folder)).sort()) {
    if (LEFT_OUT.has(name)) continue
    const path = join(folder, name)
    const stats = await lstat(path, { bigint: true }).catch(() => undefined)
    if (stats === undefined) continue // removed meanwhile; the next fetch sees the new state
    const relative = within === '' ? name : `${within}/${name}`
    if (stats.isDirectory()) {
      await walk(found, path, relative)
      continue
    }
    if (found.files.length === MAX_FILES)
      throw new SkillError('TOO_LARGE', `the packages have more than ${MAX_FILES} files in their skills`)
    const facts = [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs, stats.mode].join()
    const size = stats.isFile() ? Number(stats.size) : 0
    found.files.push({
      path: `${found.prefix}/${relative}`,
      kind: stats.isFile() ? 'file' : stats.isSymbolicLink() ? 'link' : 'other',
      size,
      isExecutable: (stats.mode & 0o100n) !== 0n,
      id: nodeHasher.sha256(`${path}\0${facts}`),
      // Package managers hard-link files from their own store, so a file of a package may have more than one name. The
      // read fails if the file has grown since `lstat`.
      read: async () => (await DISK.read(path, { inside: [found.root], maxBytes: size })).bytes,
    })
  }
}

async function listFolder(path: string): Promise<string[]> {
  try {
    return await readdir(path)
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return []
    throw new SkillError('IO_FAILED', `${quote(path)} cannot be listed: ${code}`, { cause: thrown })
  }
}

/** Returns the real path of a folder, or `undefined` if there is no folder. */
async function realFolder(path: string): Promise<string | undefined> {
  try {
    const real = await realpath(path)
    return (await lstat(real)).isDirectory() ? real : undefined
  } catch {
    return undefined
  }
}
