// What the host and the process that runs scripts say to each other: one JSON object in a line.

/** Comes before anything is known of a skill. */
export interface PrepareFrame {
  readonly kind: 'prepare'
  /** URLs of modules of ours that are imported in advance. */
  readonly modules: readonly string[]
}

/** What is to be loaded, and from where; comes once. */
export interface LoadFrame {
  readonly kind: 'load'
  /** URL of the folder with the files of the skill, ending in `/`. */
  readonly files: string
  /** The same for plain JavaScript in place of TypeScript. */
  readonly code: string
  /** Relative to `files`, in order. */
  readonly modules: readonly string[]
  /** What may be imported by name, and where it is. */
  readonly provided: Readonly<Record<string, string>>
  /** Where the validator of JSON Schema is. */
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

/** A command as the loaded module has it. */
export interface CommandFrame {
  readonly name: unknown
  readonly description: unknown
  readonly hints: unknown
  readonly inputSchema: unknown
  readonly isDynamic: boolean
  readonly path: string
}

/** What is wrong with an input. */
export interface InputFaults {
  readonly missing: readonly string[]
  readonly unknown: readonly string[]
  readonly wrong: readonly { readonly field: string; readonly message: string }[]
}

export type ChildFrame =
  | { readonly kind: 'ready' }
  /** A module begins to run. */
  | { readonly kind: 'loading'; readonly path: string }
  | { readonly kind: 'loaded'; readonly commands: readonly CommandFrame[] }
  | { readonly kind: 'failed'; readonly path: string; readonly message: string; readonly stack: string }
  /** Whatever becomes of the call from here on is the script's. */
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
