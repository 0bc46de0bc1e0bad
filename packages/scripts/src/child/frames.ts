// Messages between the host and the process that runs scripts: one JSON object per line.

/** Asks a process to import modules of this project before the host knows which skill the process will run. */
export interface PrepareFrame {
  readonly kind: 'prepare'
  /** URLs of modules of this project to import. */
  readonly modules: readonly string[]
}

/** Tells the process which modules of the skill to load. Sent once. */
export interface LoadFrame {
  readonly kind: 'load'
  /** URL of the folder with the files of the skill, ending in `/`. */
  readonly files: string
  /** Plain JavaScript of the TypeScript files, by path relative to `files`. */
  readonly code: Readonly<Record<string, string>>
  /** Paths relative to `files`, in load order. */
  readonly modules: readonly string[]
  /** URLs of the modules that scripts may import by name. */
  readonly provided: Readonly<Record<string, string>>
  /** URL of the JSON Schema validator. */
  readonly validator: string
  readonly skillDirectory: string
  readonly maxBytes: number
}

export interface CallFrame {
  readonly kind: 'call'
  readonly id: number
  readonly command: string
  readonly input: unknown
  readonly scratchDirectory: string
}

export interface CancelFrame {
  readonly kind: 'cancel'
  readonly id: number
}

export type HostFrame = PrepareFrame | LoadFrame | CallFrame | CancelFrame

/** A command, as a loaded module defines it. */
export interface CommandFrame {
  readonly name: unknown
  readonly description: unknown
  readonly hints: unknown
  readonly inputSchema: unknown
  readonly isDynamic: boolean
  readonly path: string
}

/** Reasons why an input is invalid. */
export interface InputFaults {
  readonly missing: readonly string[]
  readonly unknown: readonly string[]
  readonly wrong: readonly { readonly field: string; readonly message: string }[]
}

export type ChildFrame =
  | { readonly kind: 'ready' }
  /** The process begins to run a module. */
  | { readonly kind: 'loading'; readonly path: string }
  | { readonly kind: 'loaded'; readonly commands: readonly CommandFrame[] }
  | { readonly kind: 'failed'; readonly path: string; readonly message: string; readonly stack: string }
  /** The command begins to run. After this frame, a failure is the fault of the script. */
  | { readonly kind: 'begun'; readonly id: number }
  | { readonly kind: 'result'; readonly id: number; readonly value?: unknown }
  | { readonly kind: 'refused'; readonly id: number; readonly faults: InputFaults }
  | { readonly kind: 'error'; readonly id: number; readonly message: string; readonly stack: string }
  | { readonly kind: 'too-large'; readonly id: number; readonly bytes: number }
  | {
      readonly kind: 'progress'
      readonly id: number
      readonly done: number
      readonly total?: number
      readonly message?: string
    }
  | { readonly kind: 'log'; readonly id: number; readonly message: string }
