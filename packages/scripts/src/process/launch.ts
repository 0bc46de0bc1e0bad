import { release } from 'node:os'
import { type GrantedPath, isInside } from '../access/granted-path.ts'
import type { PartialFolder } from '../access/partial-folders.ts'
import type { ScriptAccess } from '../access/script-access.ts'
import { FILTER_DESCRIPTOR, INFO_DESCRIPTOR } from './contained-process.ts'
import { createSystemCallFilter } from './system-call-filter.ts'

/** A program to start, with its arguments. */
export interface Launch {
  readonly command: string
  readonly args: readonly string[]
  /** Present if bubblewrap starts the program in a sandbox. */
  readonly sandbox?: {
    /** The seccomp filter that bubblewrap loads; absent if this architecture has no filter. */
    readonly filter?: Uint8Array
  }
}

/** The files and folders that a process may see. */
export interface View {
  readonly access: ScriptAccess
  /** Files and folders of the host that the process needs to read. */
  readonly readable: readonly string[]
  /** Folder for temporary files, which the process may write to. */
  readonly scratch: string
  readonly workingDirectory: string
}

const HEAP_MB = 256
const DATA_KB = 1_048_576
/** Size limit of one file in blocks of 512 bytes: 1 GB. */
const FILE_BLOCKS = 2_097_152
const MAX_TASKS = 256
/** Size limit in bytes for each file system in memory. */
const MEMORY_BYTES = 67_108_864

/** Returns a launch of Node. Node's permission model allows the process only the granted access. */
export function toNodeLaunch(main: readonly string[], { access, readable, scratch }: View): Launch {
  const canAllowNetwork = process.allowedNodeEnvironmentFlags.has('--allow-net')
  return {
    command: process.execPath,
    args: [
      '--permission',
      ...outermost([...readable, scratch, ...namesOf(access.readable)]).map(
        path => `--allow-fs-read=${path}`,
      ),
      ...outermost([scratch, ...namesOf(access.writable)]).map(path => `--allow-fs-write=${path}`),
      ...(access.hasPrograms ? ['--allow-child-process'] : []),
      ...(access.hasNetwork && canAllowNetwork ? ['--allow-net'] : []),
      '--no-addons',
      '--no-experimental-sqlite',
      '--disable-sigusr1',
      '--disable-proto=delete',
      '--no-global-search-paths',
      // Node warns about some permission flags; they are set on purpose here.
      '--disable-warning=SecurityWarning',
      `--max-old-space-size=${HEAP_MB}`,
      ...main,
    ],
  }
}

/** Returns each path in two forms, as granted and with links resolved, because Node compares paths literally. */
function namesOf(paths: readonly GrantedPath[]): readonly string[] {
  return [...new Set(paths.flatMap(({ path, real }) => [path, real]))]
}

/** Removes each path that is inside another path of the list. Otherwise Node would ignore the outer folder. */
function outermost(paths: readonly string[]): readonly string[] {
  return paths.filter(path => !paths.some(other => other !== path && isInside(path, other)))
}

/** Limits the size of files and the memory outside the heap, and turns core dumps off. All descendants inherit these limits. */
export function withLimits(
  { command, args }: Launch,
  { hasOwnUsers }: { readonly hasOwnUsers: boolean },
): Launch {
  if (process.platform === 'win32') return { command, args }
  // Linux counts processes and threads per user. Outside a sandbox, the count includes all other processes of the user. The option of `ulimit` for this count is `-u` in some shells and `-p` in others.
  const processes = hasOwnUsers
    ? `ulimit -u ${MAX_TASKS} 2>/dev/null || ulimit -p ${MAX_TASKS} 2>/dev/null; `
    : ''
  const script = `${processes}ulimit -c 0; ulimit -d ${DATA_KB}; ulimit -f ${FILE_BLOCKS}; exec "$0" "$@"`
  return { command: '/bin/sh', args: ['-c', script, command, ...args] }
}

/** Paths on Linux from which programs may have to read when they start. */
const SYSTEM = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib64',
  '/etc/alternatives',
  '/etc/ld.so.cache',
  '/etc/localtime',
  '/nix/store',
]
const FOR_NETWORK = [
  '/etc/hosts',
  '/etc/nsswitch.conf',
  '/etc/resolv.conf',
  '/run/systemd/resolve',
  '/etc/ssl',
  '/etc/pki',
]

/** `PATH` inside the sandbox, where only system folders are visible. */
export const SYSTEM_PATH = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'] as const

export interface Bubblewrap {
  readonly path: string
  /** Whether bubblewrap can limit the size of a file system in memory. Requires bubblewrap 0.7. */
  readonly hasSize: boolean
}

/** Returns a launch of the same program inside bubblewrap, in its own namespaces. */
export function toSandboxed({ path: bubblewrap, hasSize }: Bubblewrap, launch: Launch, view: View): Launch {
  const filter = createSystemCallFilter()
  const { command, args } = withLimits(launch, { hasOwnUsers: COUNTS_PER_NAMESPACE })
  const memory = (path: string): string[] => [
    ...(hasSize ? ['--size', String(MEMORY_BYTES)] : []),
    '--tmpfs',
    path,
  ]
  const { access, readable, scratch, workingDirectory } = view
  const partial = new Set(access.partial.map(({ path }) => path))
  const show = (paths: readonly string[]): string[] => paths.flatMap(path => ['--ro-bind-try', path, path])
  const shown = [...SYSTEM, ...(access.hasNetwork ? FOR_NETWORK : []), ...readable]
  return {
    command: bubblewrap,
    sandbox: filter === undefined ? {} : { filter },
    args: [
      '--unshare-all',
      '--info-fd',
      String(INFO_DESCRIPTOR),
      ...(filter === undefined ? [] : ['--seccomp', String(FILTER_DESCRIPTOR)]),
      ...(access.hasNetwork ? ['--share-net'] : []),
      '--die-with-parent',
      '--new-session',
      '--cap-drop',
      'ALL',
      ...show(SYSTEM),
      ...(access.hasNetwork ? show(FOR_NETWORK) : []),
      '--proc',
      '/proc',
      '--dev',
      '/dev',
      ...memory('/dev/shm'),
      '--remount-ro',
      '/dev',
      ...memory('/tmp'),
      ...access.partial.flatMap(each => toPartialArgs(each, memory, shown)),
      ...show(access.readable.map(({ real }) => real).filter(real => !partial.has(real))),
      ...access.writable.flatMap(({ real }) => ['--bind-try', real, real]),
      ...linksOf([...access.readable, ...access.writable], shown).flatMap(({ path, real }) => [
        '--symlink',
        real,
        path,
      ]),
      // Mount the files of the host after the granted paths, because a later mount hides an earlier mount. So the files
      // of the host stay read-only.
      ...show([process.execPath, ...readable]),
      '--bind',
      scratch,
      scratch,
      // bubblewrap creates the parent folders of mounts in memory. Make these parent folders read-only.
      ...[...partial].flatMap(path => (path === '/' ? [] : ['--remount-ro', path])),
      '--remount-ro',
      '/',
      '--chdir',
      workingDirectory,
      '--',
      command,
      ...args,
    ],
  }
}

/** Paths that bubblewrap mounts itself. */
const OWN = ['/proc', '/dev']

function toPartialArgs(
  { path: root, folders, entries }: PartialFolder,
  memory: (path: string) => readonly string[],
  shown: readonly string[],
): readonly string[] {
  const there = [...shown, ...OWN]
  return [
    ...(root === '/' ? [] : memory(root)),
    ...folders.flatMap(path => ['--dir', path]),
    ...entries
      .filter(({ path }) => !there.includes(path))
      .flatMap(({ path, target }) =>
        target === undefined ? ['--ro-bind-try', path, path] : ['--symlink', target, path],
      ),
  ]
}

/** Returns each granted path that is a link, unless a mounted folder already contains the link. */
function linksOf(granted: readonly GrantedPath[], shown: readonly string[]): readonly GrantedPath[] {
  const there = [...shown, ...granted.map(({ real }) => real)]
  const links = new Map(
    granted.flatMap(each =>
      each.path !== each.real && !there.some(folder => isInside(each.path, folder))
        ? [[each.path, each]]
        : [],
    ),
  )
  return [...links.values()].filter(
    ({ path }) => ![...links.keys()].some(other => other !== path && isInside(path, other)),
  )
}

/** Whether Linux counts processes separately for each user namespace. Requires Linux 5.14. */
const COUNTS_PER_NAMESPACE = isAtLeast(release(), [5, 14])

function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [first = 0, second = 0] = version.split('.').map(part => Number.parseInt(part, 10))
  return first > major || (first === major && second >= minor)
}
