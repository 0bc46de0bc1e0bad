import type { ScriptAccess } from './script-access.ts'

/** A program to start, with its arguments. */
export interface Launch {
  readonly command: string
  readonly args: readonly string[]
}

/** What a process gets to see, whatever it runs. */
export interface View {
  readonly access: ScriptAccess
  /** Folders and files of ours that it reads. */
  readonly readable: readonly string[]
  /** Its own folder, which it may write. */
  readonly scratch: string
  readonly workingDirectory: string
}

const HEAP_MB = 256
const DATA_KB = 1_048_576

/** Node with what its permission model can forbid, forbidden. */
export function toNodeLaunch(main: readonly string[], { access, readable, scratch }: View): Launch {
  const canAllowNetwork = process.allowedNodeEnvironmentFlags.has('--allow-net')
  return {
    command: process.execPath,
    args: [
      '--permission',
      ...[...readable, scratch, ...access.readable].map(path => `--allow-fs-read=${path}`),
      ...[scratch, ...access.writable].map(path => `--allow-fs-write=${path}`),
      ...(access.hasPrograms ? ['--allow-child-process'] : []),
      ...(access.hasNetwork && canAllowNetwork ? ['--allow-net'] : []),
      '--no-addons',
      '--no-experimental-sqlite',
      '--disable-sigusr1',
      '--disable-proto=delete',
      '--no-global-search-paths',
      // Of what we have chosen nobody needs to be warned.
      '--disable-warning=SecurityWarning',
      `--max-old-space-size=${HEAP_MB}`,
      ...main,
    ],
  }
}

/** Limits that the process and everything it starts inherit: memory beyond the heap, and no dumps of it. */
export function withLimits({ command, args }: Launch): Launch {
  if (process.platform === 'win32') return { command, args }
  const script = `ulimit -c 0; ulimit -d ${DATA_KB}; exec "$0" "$@"`
  return { command: '/bin/sh', args: ['-c', script, command, ...args] }
}

/** What every program of a Linux system may need to start. */
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

/** Where programs are looked for in the sandbox: nothing else of the machine is to be seen there. */
export const SYSTEM_PATH = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'] as const

/** The same program in namespaces of its own, by bubblewrap. */
export function toSandboxed(bubblewrap: string, { command, args }: Launch, view: View): Launch {
  const { access, readable, scratch, workingDirectory } = view
  const show = (paths: readonly string[]): string[] => paths.flatMap(path => ['--ro-bind-try', path, path])
  return {
    command: bubblewrap,
    args: [
      '--unshare-all',
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
      '--tmpfs',
      '/tmp',
      ...show([process.execPath, ...readable, ...access.readable]),
      ...access.writable.flatMap(path => ['--bind-try', path, path]),
      '--bind',
      scratch,
      scratch,
      '--chdir',
      workingDirectory,
      '--',
      command,
      ...args,
    ],
  }
}
