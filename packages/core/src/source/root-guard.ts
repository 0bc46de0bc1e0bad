import { type FileSystem, statIfThere } from '../fs/file-system.ts'

/**
 * Detects when a root appears, vanishes or is replaced by another folder. The guard watches the nearest existing
 * folder above the root, and ignores other changes in that folder.
 */
export class RootGuard {
  readonly #fileSystem: FileSystem
  readonly #root: string
  readonly #onChange: () => void
  #isRunning = false
  #isCheckPending = false
  #identity: string | undefined
  #watched: { path: string; identity: string; close: () => void } | undefined
  #checking: Promise<void> = Promise.resolve()

  constructor(fileSystem: FileSystem, root: string, onChange: () => void) {
    this.#fileSystem = fileSystem
    this.#root = root
    this.#onChange = onChange
  }

  /** Resolves when the guard has checked all events that came before the call. */
  get settled(): Promise<void> {
    return this.#checking
  }

  /** Checks the root even if no event came. */
  async look(): Promise<void> {
    this.#onEvent()
    await this.#checking
  }

  start(): void {
    this.#isRunning = true
    this.#checking = this.#arm().then(async () => {
      this.#identity = await this.#identify(this.#root)
    })
  }

  stop(): void {
    this.#isRunning = false
    this.#watched?.close()
    this.#watched = undefined
  }

  #onEvent(): void {
    // One pending check handles all events that arrive before the check begins, so many events in the parent folder
    // cause only one check.
    if (this.#isCheckPending) return
    this.#isCheckPending = true
    this.#checking = this.#checking.then(() => {
      this.#isCheckPending = false
      return this.#check()
    })
  }

  async #check(): Promise<void> {
    if (!this.#isRunning) return
    await this.#arm()
    const identity = await this.#identify(this.#root)
    if (identity === this.#identity) return
    this.#identity = identity
    this.#onChange()
  }

  /**
   * Watches the nearest existing folder above the root. If another folder has taken the path of the watched folder,
   * sets the watch again.
   */
  async #arm(): Promise<void> {
    for (let path = parentOf(this.#root); path !== undefined; path = parentOf(path)) {
      const identity = await this.#identify(path)
      if (identity === undefined) continue
      if (this.#watched?.path === path && this.#watched.identity === identity) return
      this.#watched?.close()
      this.#watched = undefined
      if (!this.#isRunning) return
      try {
        const close = this.#fileSystem.watch?.(
          path,
          () => this.#onEvent(),
          () => {
            this.#watched?.close()
            this.#onEvent() // Windows reports a removed folder as an error of its watch
          },
        )
        if (close !== undefined) this.#watched = { path, identity, close }
      } catch {
        return // a sweep still finds a changed root, only later; the root's own watch reports the fault
      }
      // A folder created between the stat and the watch causes no event, so check again.
      if (path !== parentOf(this.#root)) await this.#arm()
      return
    }
  }

  async #identify(path: string): Promise<string | undefined> {
    const stat = await statIfThere(this.#fileSystem, path)
    return stat && `${stat.dev}:${stat.ino}:${stat.birthtimeMs}`
  }
}

function parentOf(path: string): string | undefined {
  const end = path.lastIndexOf('/')
  if (end === -1 || end === path.length - 1) return undefined
  const parent = path.slice(0, end)
  // `C:` alone is the working directory of that drive.
  return /^(?:[A-Za-z]:)?$/.test(parent) ? `${parent}/` : parent
}
