import { release } from 'node:os'
import { dirname } from 'node:path'
import { type GrantedPath, isInsideFolder } from '../access/granted-path.ts'
import type { PartialFolder } from '../access/partial-folders.ts'
import type { ScriptAccess } from '../access/script-access.ts'
import { CHANNEL_DESCRIPTOR, FILTER_DESCRIPTOR, INFO_DESCRIPTOR } from './contained-process.ts'
import type { ScriptUser } from './script-user.ts'
import { createSystemCallFilter } from './system-call-filter.ts'

/** A program to start, with its arguments. */
export interface Launch {
  readonly command: string
  readonly args: readonly string[]
  /** Present if bubblewrap starts the program in a sandbox. */
  readonly sandbox?: {
    /** The seccomp filter that bubblewrap loads; absent if this architecture has no filter. */
    readonly filter?: Uint8Array
    /** Folder in which the host may create a file. */
    readonly folder: string
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
  /** Whether the program has a channel to the host. A program without a channel waits for the host before it begins. */
  readonly hasChannel?: boolean
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
  return paths.filter(path => !paths.some(other => other !== path && isInsideFolder(path, other)))
}

interface LimitOptions {
  readonly hasOwnUsers: boolean
  /** Whether the program waits until the host answers. The answer shows that the host still runs. */
  readonly waitsForHost?: boolean
  /** Folder to enter before the program starts; missing if this is the current folder. */
  readonly folder?: string
}

/** Limits the size of files and the memory outside the heap, and turns core dumps off. All descendants inherit these limits. */
export function withLimits(
  { command, args }: Launch,
  { hasOwnUsers, waitsForHost = false, folder = '.' }: LimitOptions,
): Launch {
  if (process.platform === 'win32') return { command, args }
  // Linux counts processes and threads per user. Outside a sandbox, the count includes all other processes of the user. The option of `ulimit` for this count is `-u` in some shells and `-p` in others.
  const processes = hasOwnUsers
    ? `ulimit -u ${MAX_TASKS} 2>/dev/null || ulimit -p ${MAX_TASKS} 2>/dev/null; `
    : ''
  const channel = CHANNEL_DESCRIPTOR
  const gate = waitsForHost ? `echo >&${channel} && read -r _ <&${channel} && exec ${channel}<&- && ` : ''
  const script = `${processes}ulimit -c 0; ulimit -d ${DATA_KB}; ulimit -f ${FILE_BLOCKS}; ${gate}cd "$0" && exec "$@"`
  return { command: '/bin/sh', args: ['-c', script, folder, command, ...args] }
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
  /** Path of the program that changes the user of a script. Present if the host is the superuser. */
  readonly setpriv?: string
}

/** Returns a launch of the same program inside bubblewrap, in its own namespaces. */
export function toSandboxed(bubblewrap: Bubblewrap, launch: Launch, view: View): Launch {
  const filter = createSystemCallFilter()
  const { access, readable, scratch, workingDirectory } = view
  const { user } = access
  const waitsForHost = view.hasChannel !== true
  const { command, args } = asUser(
    user,
    bubblewrap.setpriv,
    // The user of the script may enter folders that bubblewrap, which has no capabilities left, may not enter.
    user === undefined
      ? withLimits(launch, { hasOwnUsers: COUNTS_PER_NAMESPACE, waitsForHost })
      : withLimits(launch, { hasOwnUsers: false, waitsForHost, folder: workingDirectory }),
  )
  const memory = (path: string): string[] => [
    ...(user === undefined ? [] : ['--perms', '1777']),
    ...(bubblewrap.hasSize ? ['--size', String(MEMORY_BYTES)] : []),
    '--tmpfs',
    path,
  ]
  const partial = new Set(access.partial.map(({ path }) => path))
  const show = (paths: readonly string[]): string[] => paths.flatMap(path => ['--ro-bind-try', path, path])
  const shown = [...SYSTEM, ...(access.hasNetwork ? FOR_NETWORK : []), ...readable]
  const mounted = [...access.readable, ...access.writable].flatMap(({ path, real }) => [path, real])
  return {
    command: bubblewrap.path,
    sandbox: { folder: scratch, ...(filter === undefined ? {} : { filter }) },
    args: [
      ...(user === undefined ? ['--unshare-all'] : ALL_BUT_USERS),
      '--info-fd',
      String(INFO_DESCRIPTOR),
      ...(filter === undefined ? [] : ['--seccomp', String(FILTER_DESCRIPTOR)]),
      ...(access.hasNetwork ? ['--share-net'] : []),
      '--die-with-parent',
      '--new-session',
      '--cap-drop',
      'ALL',
      ...(user === undefined ? [] : ['--cap-add', 'CAP_SETUID', '--cap-add', 'CAP_SETGID']),
      ...memory('/tmp'),
      ...(user === undefined ? [] : toParentArgs([...shown, ...mounted, process.execPath, scratch])),
      ...show(SYSTEM),
      ...(access.hasNetwork ? show(FOR_NETWORK) : []),
      '--proc',
      '/proc',
      // bubblewrap leaves kernel settings in /proc/sys writable for the superuser.
      '--remount-ro',
      '/proc',
      '--dev',
      '/dev',
      ...memory('/dev/shm'),
      '--remount-ro',
      '/dev',
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
      user === undefined ? workingDirectory : '/',
      '--',
      command,
      ...args,
    ],
  }
}

/** The options of `--unshare-all`, except the namespace of users: in a new one, only the superuser would exist. */
const ALL_BUT_USERS = [
  '--unshare-ipc',
  '--unshare-pid',
  '--unshare-net',
  '--unshare-uts',
  '--unshare-cgroup-try',
]

/** Changes the user of a program that bubblewrap starts. The change also removes the capabilities. */
function asUser(user: ScriptUser | undefined, setpriv: string | undefined, launch: Launch): Launch {
  if (user === undefined || setpriv === undefined) return launch
  const ids = ['--reuid', String(user.uid), '--regid', String(user.gid)]
  const args = [...ids, '--clear-groups', '--inh-caps=-all', '--', launch.command, ...launch.args]
  return { command: setpriv, args }
}

/** Paths that bubblewrap mounts itself. */
const OWN = ['/proc', '/dev']

/** Creates the parent folders of mounts. By default, bubblewrap creates parent folders that only its own user may use. */
function toParentArgs(mounted: readonly string[]): readonly string[] {
  const parents = new Set<string>()
  for (const path of mounted)
    for (let at = dirname(path); at !== dirname(at); at = dirname(at)) parents.add(at)
  return [...parents].sort().flatMap(path => ['--perms', '0755', '--dir', path])
}

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
      each.path !== each.real && !there.some(folder => isInsideFolder(each.path, folder))
        ? [[each.path, each]]
        : [],
    ),
  )
  return [...links.values()].filter(
    ({ path }) => ![...links.keys()].some(other => other !== path && isInsideFolder(path, other)),
  )
}

/** Whether Linux counts processes separately for each user namespace. Requires Linux 5.14. */
const COUNTS_PER_NAMESPACE = isAtLeast(release(), [5, 14])

function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [first = 0, second = 0] = version.split('.').map(part => Number.parseInt(part, 10))
  return first > major || (first === major && second >= minor)
}
