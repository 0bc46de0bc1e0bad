import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { isAlive } from '@skillstoke/core/internal/node'
import type { ApiClient } from '../client/api-client.ts'
import { ApiError } from '../client/api-error.ts'
import type { ServerStatus } from '../client/api-types.ts'
import type { Config } from '../config/config.ts'
import { replaceFile } from '../config/replace-file.ts'

/** The file with which other processes of the same user find a running `stoke dev`. */
export interface RunFile {
  readonly url: string
  /** Host name of the machine or container of the process. */
  readonly host: string
  readonly pid: number
  readonly startId: string
  readonly token: string
  readonly roots: readonly RunFileRoot[]
}

/** A source in a run file. Two lists of sources match if they have equal paths and labels in the same order. */
interface RunFileRoot {
  readonly label: string
  /** Absolute path, or origin of a remote source. */
  readonly path: string
}

/** A running `stoke dev` that has responded. */
export interface RunningDev {
  readonly file: RunFile
  readonly status: ServerStatus
  readonly client: ApiClient
}

type StatePlace = Pick<Config, 'stateDirectory'>

const FOLDER = 'run'
const RUN_FILE = /^\d+\.json$/
/** Matches the names of incomplete run files, and of files that redirect a browser to a `stoke dev`. */
const DRAFT = /^(?:open-)?(\d+)\.(?:json\..+\.tmp|html)$/
const PROBE_TIMEOUT_MS = 2_000
/** Interval at which a process checks whether its run file still exists. */
const CHECK_INTERVAL_MS = 500

/**
 * Writes the run file, and writes it again if another process removes it. Returns a function that stops these checks
 * and removes the run file.
 */
export function writeRunFile(
  config: Config,
  dev: { readonly url: string; readonly startId: string; readonly token: string },
): () => void {
  const path = join(config.stateDirectory, FOLDER, `${process.pid}.json`)
  const { url, startId, token } = dev
  const roots = toRunFileRoots(config)
  const file: RunFile = { url, host: hostname(), pid: process.pid, startId, token, roots }
  const write = (): void => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    replaceFile(path, `${JSON.stringify(file, undefined, 2)}\n`)
  }
  write()
  const timer = setInterval(() => {
    if (existsSync(path)) return
    try {
      write()
    } catch {
      // The write may fail, for example on a full disk. The write is retried after the next interval.
    }
  }, CHECK_INTERVAL_MS).unref()
  return () => {
    clearInterval(timer)
    rmSync(path, { force: true })
  }
}

/** Removes the run files and temporary files of killed processes. */
export async function sweepRunFiles(config: StatePlace): Promise<void> {
  for (const path of listFolder(config, DRAFT)) {
    const pid = Number(DRAFT.exec(basename(path))?.[1])
    // A temporary file may lack the host name. In this case, reads the host name from the run file of the same process.
    const file = readRunFile(path) ?? readRunFile(join(dirname(path), `${pid}.json`))
    if ((file === undefined || file.host === hostname()) && !isAlive(pid)) rmSync(path, { force: true })
  }
  for (const path of listFolder(config, RUN_FILE)) {
    const file = readRunFile(path)
    if (file !== undefined && file.pid !== process.pid && file.host === hostname())
      await probeOrRemove(path, file)
  }
}

/**
 * Finds a running `stoke dev` with the same sources. Removes the files of an ended process, even if another process now
 * has the same process id.
 */
export async function findRunningDev(config: Config): Promise<RunningDev | undefined> {
  const wanted = JSON.stringify(toRunFileRoots(config))
  const running = await findRunningDevs(config)
  return running.find(({ file }) => JSON.stringify(file.roots) === wanted)
}

/** Finds every running `stoke dev` of this machine that uses the state directory. */
export async function findRunningDevs(config: StatePlace): Promise<readonly RunningDev[]> {
  const found: RunningDev[] = []
  for (const path of listFolder(config, RUN_FILE)) {
    const file = readRunFile(path)
    // Skips processes of other machines and containers, because this process cannot check whether they still run.
    if (file === undefined || file.host !== hostname()) continue
    const running = await probeOrRemove(path, file)
    if (running !== undefined) found.push(running)
  }
  return found
}

async function probeOrRemove(path: string, file: RunFile): Promise<RunningDev | undefined> {
  const running = isAlive(file.pid) ? await probe(file) : 'gone'
  if (running !== 'gone') return running
  rmSync(path, { force: true })
  return undefined
}

function listFolder(config: StatePlace, names: RegExp): string[] {
  const folder = join(config.stateDirectory, FOLDER)
  try {
    return readdirSync(folder)
      .filter(name => names.test(name))
      .map(name => join(folder, name))
  } catch (thrown) {
    if (isUnavailable(thrown)) return []
    throw thrown
  }
}

/** Returns true if the folder is missing or not accessible, which means that this user has no run files. */
function isUnavailable(thrown: unknown): boolean {
  const { code } = thrown as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES' || code === 'EPERM'
}

/** Reads a run file. Returns `undefined` if the file was removed or is invalid. */
function readRunFile(path: string): RunFile | undefined {
  try {
    const file = JSON.parse(readFileSync(path, 'utf8')) as Partial<RunFile>
    const isWhole =
      typeof file.url === 'string' &&
      typeof file.host === 'string' &&
      typeof file.pid === 'number' &&
      typeof file.startId === 'string' &&
      typeof file.token === 'string' &&
      Array.isArray(file.roots)
    return isWhole ? (file as RunFile) : undefined
  } catch (thrown) {
    if (thrown instanceof SyntaxError || isUnavailable(thrown)) return undefined
    throw thrown
  }
}

/**
 * Asks a `stoke dev` for its status. Returns `'gone'` if no process listens, or a different `stoke dev` responds.
 * Returns `undefined` if the response is wrong or late, because this fault may be temporary.
 */
async function probe(file: RunFile): Promise<RunningDev | 'gone' | undefined> {
  const { ApiClient } = await import('../client/api-client.ts')
  const client = new ApiClient({ url: file.url, token: file.token, timeoutMs: PROBE_TIMEOUT_MS })
  try {
    const status = await client.status()
    if (status.startId !== file.startId) return 'gone'
    return { file, status, client: new ApiClient({ url: file.url, token: file.token }) }
  } catch (thrown) {
    const isOther = thrown instanceof ApiError && thrown.code === 'UNAUTHORIZED'
    return isOther || isRefused(thrown) ? 'gone' : undefined
  }
}

function isRefused(thrown: unknown): boolean {
  const { cause } = thrown as { readonly cause?: { readonly code?: unknown } }
  return cause?.code === 'ECONNREFUSED'
}

/** Lists the sources of a configuration in the form in which two lists can be compared. */
export function toRunFileRoots({ roots, remotes }: Config): readonly RunFileRoot[] {
  return [
    ...roots.map(({ label, path }) => ({ label, path: resolve(path) })),
    ...remotes.map(({ label, origin }) => ({ label, path: origin })),
  ]
}
