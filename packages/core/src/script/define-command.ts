/** What a script says about a command, besides what it does. */
export interface CommandHints {
  /** The command changes nothing outside itself. */
  readonly readOnly?: boolean
  /** It may destroy something. */
  readonly destructive?: boolean
  /** Calling it again with the same input changes nothing more. */
  readonly idempotent?: boolean
  /** It deals with things beyond this machine. */
  readonly openWorld?: boolean
}

/** What a command is given besides its input. */
export interface CommandContext {
  /** Aborts when the caller does not want the answer any more. */
  readonly signal: AbortSignal
  /** Tells how far the work is; `total` in the same unit, when it is known. */
  readonly progress: (done: number, total?: number, message?: string) => void
  /** A line for whoever looks after the system; models do not see it. */
  readonly log: (message: string) => void
  /** The folder of the skill at the revision that runs, read-only. */
  readonly skillDirectory: string
  /** A folder of this call alone, writable and removed afterwards. */
  readonly scratchDirectory: string
}

/** JSON Schema of an object. */
export interface JsonSchemaObject {
  readonly type: 'object'
  readonly properties?: Readonly<Record<string, unknown>>
  readonly required?: readonly string[]
  readonly [keyword: string]: unknown
}

/** The part of a Standard Schema (standardschema.dev) that a command needs: zod, valibot, arktype and others have it. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => unknown
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
    /** How the schema is shown to callers; without it they see no fields. */
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>
    }
  }
}

/** What the input of a command becomes when it is given to `run`. */
export type CommandInput<Input> =
  Input extends StandardSchema<infer Output>
    ? Output
    : Input extends { readonly properties: infer Properties }
      ? FieldsOf<Properties, Input extends { readonly required: readonly (infer Name)[] } ? Name : never>
      : Readonly<Record<string, unknown>>

type FieldsOf<Properties, Required> = {
  readonly [Name in keyof Properties as Name extends Required ? Name : never]: ValueOf<Properties[Name]>
} & {
  readonly [Name in keyof Properties as Name extends Required ? never : Name]?: ValueOf<Properties[Name]>
}

/** Follows plain JSON Schema; whatever else it says is `unknown`. */
type ValueOf<Schema> = Schema extends { readonly enum: readonly (infer Value)[] }
  ? Value
  : Schema extends { readonly type: 'string' }
    ? string
    : Schema extends { readonly type: 'number' | 'integer' }
      ? number
      : Schema extends { readonly type: 'boolean' }
        ? boolean
        : Schema extends { readonly type: 'array'; readonly items: infer Item }
          ? readonly ValueOf<Item>[]
          : unknown

export interface CommandDefinition<Input extends JsonSchemaObject | StandardSchema = JsonSchemaObject> {
  /** Letters, digits, `_` and `-`; the command is called `skill.name`. */
  readonly name: string
  /** What it does and when to call it, for a model. */
  readonly description: string
  /** What it takes. A literal JSON Schema can be read without running anything. @default no fields */
  readonly input?: Input
  readonly hints?: CommandHints
  /** What it answers becomes text for a model: text as it is, anything else as JSON. */
  run(input: CommandInput<Input>, context: CommandContext): unknown
}

/** A command as a module exports it. */
export interface DefinedCommand {
  readonly [COMMAND_BRAND]: true
  readonly definition: CommandDefinition<JsonSchemaObject | StandardSchema>
}

/** The same symbol in every copy of this module. */
const COMMAND_BRAND: unique symbol = Symbol.for('skillstoke.command')

/** Makes a command of a skill; export what it returns from a file of `scripts/`, under any name. */
export function defineCommand<const Input extends JsonSchemaObject | StandardSchema = JsonSchemaObject>(
  definition: CommandDefinition<Input>,
): DefinedCommand {
  return Object.freeze({
    [COMMAND_BRAND]: true as const,
    definition: definition as unknown as CommandDefinition<JsonSchemaObject | StandardSchema>,
  })
}
