import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { dirname } from 'node:path'
import { SkillError } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import { killGroup } from '@skillstoke/core/internal/node'

export interface GitRun {
  /** Path of the bare repository. Absent for commands that need no repository. */
  readonly gitDirectory?: string
  /** Credentials and limits for the remote. */
  readonly access?: GitAccess
  readonly signal?: AbortSignal
  /** Maximum output in bytes. A command with more output fails. @default 64 MiB */
  readonly maxOutputBytes?: number
  readonly input?: string
  /** Additional git settings, as `name=value`. */
  readonly settings?: readonly string[]
  /** Exit codes that git uses for a valid answer. @default [0] */
  readonly answers?: readonly number[]
}

export interface GitOutput {
  readonly code: number
  readonly stdout: Buffer
}

/** Credentials and limits for a remote. */
export interface GitAccess {
  /** The transports that git may use. */
  readonly protocols: readonly string[]
  /** The server that receives the token, as `https://host`. */
  readonly server?: string
  readonly token?: string
  readonly identityFile?: string
  readonly knownHostsFile?: string
  /** Hosts that may be in a private network or on this machine. */
  readonly privateHosts?: readonly string[]
}

const DEFAULT_MAX_OUTPUT_BYTES = 64 * 1024 * 1024
const MAX_ERROR_BYTES = 8 * 1024

// Git ignores these faults in fetched objects, because the faults are harmless and common in old repositories.
const HARMLESS_FAULTS = [
  'zeroPaddedFilemode',
  'missingSpaceBeforeDate',
  'missingSpaceBeforeEmail',
  'badTimezone',
  'badDate',
  'missingEmail',
  'badEmail',
  'badName',
  'missingNameBeforeEmail',
  'missingTaggerEntry',
  'badTagName',
]

/** Settings that prevent a repository or server from starting programs, choosing file paths, or prompting a person. */
const HARDENING: readonly string[] = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.attributesFile=/dev/null',
  'core.askPass=',
  'core.logAllRefUpdates=false',
  'credential.interactive=false',
  'safe.bareRepository=explicit',
  'protocol.ext.allow=never',
  'submodule.recurse=false',
  'fetch.recurseSubmodules=false',
  'fetch.writeCommitGraph=false',
  // Stores each fetch as one pack, which is either complete or absent. A killed fetch with loose objects could leave
  // half a commit.
  'fetch.unpackLimit=1',
  'transfer.fsckObjects=true',
  'transfer.advertiseSID=false',
  'transfer.bundleURI=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'http.followRedirects=false',
  'http.lowSpeedLimit=1000',
  'http.lowSpeedTime=20',
  ...HARMLESS_FAULTS.map(fault => `fetch.fsck.${fault}=ignore`),
]

// Environment variables that git gets from the host. Variables that configure git are not among them.
const PASSED_ON =
  /^(PATH|HOME|USER|LOGNAME|TMPDIR|TEMP|TMP|XDG_CONFIG_HOME|SSH_AUTH_SOCK|SSL_CERT_(FILE|DIR)|(https?|all|no)_proxy|SystemRoot|SystemDrive|USERPROFILE|APPDATA|LOCALAPPDATA|PROGRAMDATA|COMSPEC|PATHEXT)$/i

/**
 * Runs git until it exits, in its own process group. Kills the process group when the signal aborts.
 * @throws {SkillError} IO_FAILED when git cannot be run or fails; TOO_LARGE when git prints too much
 */
export async function runGit(args: readonly string[], run: GitRun = {}): Promise<GitOutput> {
  run.signal?.throwIfAborted()
  const child = spawnGit(args, run)
  const { promise, resolve, reject } = Promise.withResolvers<GitOutput>()
  const chunks: Buffer[] = []
  const errors: Buffer[] = []
  let outputBytes = 0
  let errorBytes = 0
  let failure: unknown
  const stop = (reason: unknown): void => {
    failure ??= reason
    killGroup(child)
  }
  const onAbort = (): void => stop(run.signal?.reason)
  run.signal?.addEventListener('abort', onAbort, { once: true })
  const maxOutputBytes = run.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES
  child.stdout.on('data', (chunk: Buffer) => {
    outputBytes += chunk.length
    if (outputBytes > maxOutputBytes)
      stop(new SkillError('TOO_LARGE', `git ${args[0]} printed more than ${maxOutputBytes} bytes`))
    else chunks.push(chunk)
  })
  child.stderr.on('data', (chunk: Buffer) => {
    if (errorBytes < MAX_ERROR_BYTES) errors.push(chunk)
    errorBytes += chunk.length
  })
  child.stdin.on('error', () => undefined) // git ended before it had read everything; its exit code reports why
  child.stdin.end(run.input ?? '')
  child.on('error', thrown => reject(cannotRun(thrown)))
  child.on('close', (code, signalName) => {
    if (failure !== undefined) reject(failure)
    else if (code !== null && (run.answers ?? [0]).includes(code))
      resolve({ code, stdout: Buffer.concat(chunks) })
    else reject(failed(args, code ?? signalName ?? 'nothing', Buffer.concat(errors), run.access?.token))
  })
  try {
    return await promise
  } finally {
    run.signal?.removeEventListener('abort', onAbort)
  }
}

/**
 * Starts git with pipes and hardened settings, in its own process group. On Windows, programs are searched for in the
 * working directory before all other folders. Git starts in a folder to which no project can add a `git.exe`.
 */
export function spawnGit(
  args: readonly string[],
  { gitDirectory, access, settings = [] }: GitRun,
): ChildProcessWithoutNullStreams {
  const options = [...HARDENING, ...settings].flatMap(setting => ['-c', setting])
  const place = gitDirectory === undefined ? [] : [`--git-dir=${gitDirectory}`]
  return spawn('git', ['--no-pager', ...options, ...place, ...args], {
    detached: process.platform !== 'win32',
    stdio: ['pipe', 'pipe', 'pipe'],
    windowsHide: true,
    ...(process.platform === 'win32' ? { cwd: dirname(process.execPath) } : {}),
    env: environment(access),
  })
}

function environment(access: GitAccess = { protocols: [] }): NodeJS.ProcessEnv {
  const passedOn = Object.entries(process.env).filter(([name]) => PASSED_ON.test(name))
  const { identityFile, knownHostsFile } = access
  const ssh = [
    'ssh -oBatchMode=yes -oConnectTimeout=10 -oServerAliveInterval=10',
    ...(identityFile === undefined ? [] : ['-oIdentitiesOnly=yes', sshFile('IdentityFile', identityFile)]),
    ...(knownHostsFile === undefined
      ? []
      : ['-oStrictHostKeyChecking=yes', sshFile('UserKnownHostsFile', knownHostsFile)]),
  ]
  return {
    ...Object.fromEntries(passedOn),
    LC_ALL: 'C',
    GIT_ALLOW_PROTOCOL: access.protocols.join(':') || 'none',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    SSH_ASKPASS_REQUIRE: 'never',
    GCM_INTERACTIVE: 'never',
    GIT_SSH_VARIANT: 'ssh',
    GIT_SSH_COMMAND: ssh.join(' '),
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    ...authorization(access),
  }
}

/** Quotes a path twice: for ssh, which splits at spaces and expands `%x`, and for the shell that starts ssh. */
function sshFile(option: string, path: string): string {
  const forSsh = `-o${option}="${path.replaceAll('%', '%%')}"`
  return `'${forSsh.replaceAll("'", String.raw`'\''`)}'`
}

/** Passes the token in the environment, because all users of the machine can read command-line arguments. */
function authorization({ server, token }: GitAccess): NodeJS.ProcessEnv {
  if (token === undefined || server === undefined) return {}
  const basic = Buffer.from(`x-access-token:${token}`).toString('base64')
  return {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `http.${server}/.extraHeader`,
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
  }
}

function cannotRun(thrown: unknown): SkillError {
  const isMissing = (thrown as NodeJS.ErrnoException).code === 'ENOENT'
  return new SkillError(
    'IO_FAILED',
    isMissing
      ? 'git is not installed, or not on the PATH; install git'
      : `git cannot be run: ${toMessage(thrown)}`,
    { cause: thrown },
  )
}

const SMALL_TALK = /^(Please make sure you have the correct access rights|and the repository exists\.)$/

function failed(args: readonly string[], code: number | string, stderr: Buffer, token?: string): SkillError {
  const said = stderr
    .toString('utf8')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the output of a server may contain control sequences for a terminal
    .replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, ' ')
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '' && !SMALL_TALK.test(line))
    .slice(-4)
    .join('; ')
  const message = token === undefined ? said : said.replaceAll(token, '***')
  return new SkillError('IO_FAILED', `git ${args[0]} failed with ${code}: ${message || 'no error output'}`, {
    data: { exitCode: code },
  })
}
