import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { isAlive } from '@skillstoke/core/internal/node'
import type { ApiClient } from '../client/api-client.ts'
import { ApiError } from '../client/api-error.ts'
import type { ServerStatus } from '../client/api-types.ts'
import type { Config } from '../config/config.ts'

/** What a running `dev` leaves for other processes of its user. */
export interface RunFile {
  readonly url: string
  /** The machine or container that the process is in. */
  readonly host: string
  readonly pid: number
  readonly startId: string
  readonly token: string
  readonly roots: readonly RunFileRoot[]
}

/** Roots are the same when their folders and labels are, in the same order. */
interface RunFileRoot {
  readonly label: string
  /** An absolute path, or the URL of another machine. */
  readonly path: string
}

/** A `dev` that answered. */
export interface RunningDev {
  readonly file: RunFile
  readonly status: ServerStatus
  readonly client: ApiClient
}

type StatePlace = Pick<Config, 'stateDirectory'>

const FOLDER = 'run'
const RUN_FILE = /^\d+\.json$/
/** A run file that is being written, or a page that leads to the address of a dev. */
const DRAFT = /^(?:open-)?(\d+)\.(?:json\..+\.tmp|html)$/
const PROBE_TIMEOUT_MS = 2_000
/** How often a process looks whether its file is still there. */
const CHECK_INTERVAL_MS = 500

/** Says that this process is there, again when somebody removes the file; returns a function that takes it back. */
export function writeRunFile(
  config: Config,
  dev: { readonly url: string; readonly startId: string; readonly token: string },
): () => void {
  const folder = join(config.stateDirectory, FOLDER)
  const path = join(folder, `${process.pid}.json`)
  const { url, startId, token } = dev
  const roots = toRunFileRoots(config)
  const file: RunFile = { url, host: hostname(), pid: process.pid, startId, token, roots }
  const write = (): void => {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const draft = `${path}.${startId}.tmp`
    rmSync(draft, { force: true }) // of a writing that failed
    writeFileSync(draft, `${JSON.stringify(file, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' })
    chmodSync(draft, 0o600)
    renameSync(draft, path)
  }
  write()
  const timer = setInterval(() => {
    if (existsSync(path)) return
    try {
      write()
    } catch {
      // A disk that is full or gone: tried again the next time.
    }
  }, CHECK_INTERVAL_MS).unref()
  return () => {
    clearInterval(timer)
    rmSync(path, { force: true })
  }
}

/** Removes what processes left that were killed, while this one starts. */
export async function sweepRunFiles(config: StatePlace): Promise<void> {
  for (const path of listFolder(config, DRAFT)) {
    const pid = Number(DRAFT.exec(basename(path))?.[1])
    // A page names no host, and neither does half a draft; the run file beside it does.
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
 * The running `dev` with the same roots. Files of processes that are gone, or whose number another process has by now,
 * are removed on the way.
 */
export async function findRunningDev(config: Config): Promise<RunningDev | undefined> {
  const wanted = JSON.stringify(toRunFileRoots(config))
  let found: RunningDev | undefined
  for (const path of listFolder(config, RUN_FILE)) {
    const file = readRunFile(path)
    // A process of another machine or container with the same state cannot be reached, nor told to be gone.
    if (file === undefined || file.host !== hostname()) continue
    const running = await probeOrRemove(path, file)
    if (running !== undefined && JSON.stringify(file.roots) === wanted) found ??= running
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

/** A folder that is not there, or cannot be used: nobody has left anything in it for us. */
function isUnavailable(thrown: unknown): boolean {
  const { code } = thrown as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES' || code === 'EPERM'
}

/** `undefined` when it was taken back meanwhile, or is not ours. */
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
 * `'gone'` when another dev answers there, or nobody listens: a dev writes its file once it listens, and again when it is
 * removed. `undefined` when it does not answer as it should, which may pass.
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

function toRunFileRoots({ roots, remotes }: Config): readonly RunFileRoot[] {
  return [
    ...roots.map(({ label, path }) => ({ label, path: resolve(path) })),
    ...remotes.map(({ label, origin }) => ({ label, path: origin })),
  ]
}
