/** The behaviour that a script promises to the callers of a command. */
export interface CommandHints {
  /** True if the command only reads data. */
  readonly readOnly?: boolean
  /** True if the command may destroy data. */
  readonly destructive?: boolean
  /** True if a second call with the same input has no further effect. */
  readonly idempotent?: boolean
  /** True if the command communicates with other machines. */
  readonly openWorld?: boolean
}

/** The second argument of `run`. */
export interface CommandContext {
  /** Aborts when the caller cancels the call. */
  readonly signal: AbortSignal
  /** Reports progress. `total` has the same unit as `done`; omit `total` if the total is unknown. */
  readonly progress: (done: number, total?: number, message?: string) => void
  /** Writes a line for the operators of the host. Models do not see it. */
  readonly log: (message: string) => void
  /** The folder of the skill at the running revision, read-only. */
  readonly skillDirectory: string
  /** A writable folder that only this call uses. The folder is removed after the call. */
  readonly scratchDirectory: string
}

/** JSON Schema of an object. */
export interface JsonSchemaObject {
  readonly type: 'object'
  readonly properties?: Readonly<Record<string, unknown>>
  readonly required?: readonly string[]
  readonly [keyword: string]: unknown
}

/**
 * The members of a Standard Schema (standardschema.dev) that a command needs. Schemas of zod, valibot, arktype and
 * other libraries have these members.
 */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => unknown
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
    /** Converts the schema to JSON Schema for callers. If a schema lacks `jsonSchema`, callers do not see its fields. */
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>
    }
  }
}

/** The type of the input that `run` receives. */
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

/** Maps a plain JSON Schema to a TypeScript type. A schema with other keywords becomes `unknown`. */
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
  /** Letters, digits, `_` and `-`. Callers use `skill.name`. */
  readonly name: string
  /** Text that explains to a model what the command does, and when to call it. */
  readonly description: string
  /** The schema of the input. A literal JSON Schema can be read without running the script. @default no fields */
  readonly input?: Input
  readonly hints?: CommandHints
  /** Runs the command. The model gets a text result unchanged. Any other result is converted to JSON. */
  run(input: CommandInput<Input>, context: CommandContext): unknown
}

/** A command as a module exports it. */
export interface DefinedCommand {
  readonly [COMMAND_BRAND]: true
  readonly definition: CommandDefinition<JsonSchemaObject | StandardSchema>
}

/** `Symbol.for` returns the same symbol in every copy of this module. */
const COMMAND_BRAND: unique symbol = Symbol.for('skillstoke.command')

/**
 * Defines a command of a skill. Export the result from a file in `scripts/`, under any name.
 *
 * @example
 * ```ts
 * import { defineCommand } from 'skillstoke/command'
 *
 * export const greet = defineCommand({
 *   name: 'greet',
 *   description: 'Greets a person by name.',
 *   input: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
 *   hints: { readOnly: true },
 *   run: ({ name }) => `Hello, ${name}!`, // name is a string
 * })
 * ```
 */
export function defineCommand<const Input extends JsonSchemaObject | StandardSchema = JsonSchemaObject>(
  definition: CommandDefinition<Input>,
): DefinedCommand {
  return Object.freeze({
    [COMMAND_BRAND]: true as const,
    definition: definition as unknown as CommandDefinition<JsonSchemaObject | StandardSchema>,
  })
}
