// The process that runs the scripts of one skill. `channel` is the only connection between this process and the host.
import { mkdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type {
  CommandDefinition,
  DefinedCommand,
  JsonSchemaObject,
  StandardSchema,
} from '@skillstoke/core/command'
import { type CheckedInput, checkByStandardSchema, openJsonSchema } from './check-input.ts'
import type { CallFrame, ChildFrame, CommandFrame, HostFrame, LoadFrame, PrepareFrame } from './frames.ts'
import { Lines } from './lines.ts'
import { applyModuleRules } from './module-rules.ts'

type Definition = CommandDefinition<JsonSchemaObject | StandardSchema>

const COMMAND = Symbol.for('skillstoke.command')
const PROGRESS_INTERVAL_MS = 50
const NO_FIELDS = { type: 'object', properties: {}, additionalProperties: false } as const

const channel = new Socket({ fd: 3, readable: true, writable: true })
const commands = new Map<string, Definition>()
const checkers = new Map<Definition, (input: unknown) => CheckedInput>()
const running = new Map<number, AbortController>()
let setup: LoadFrame | undefined

const lines = new Lines()
channel.setEncoding('utf8')
channel.on('data', (text: string) => {
  for (const line of lines.take(text)) receive(JSON.parse(line) as HostFrame)
})
// The host has exited, so no answer is needed.
channel.on('close', () => process.exit())
send({ kind: 'ready' })

function receive(frame: HostFrame): void {
  if (frame.kind === 'prepare') void prepare(frame)
  else if (frame.kind === 'load') void load(frame)
  else if (frame.kind === 'call') void call(frame)
  else running.get(frame.id)?.abort(new Error('the caller cancelled the call'))
}

function send(frame: ChildFrame): void {
  channel.write(`${JSON.stringify(frame)}\n`)
}

async function prepare({ modules }: PrepareFrame): Promise<void> {
  for (const url of modules) {
    // Stop these imports when the process gets a skill to load.
    if (setup !== undefined) return
    // Ignore a failed import here, because the import will fail again in the module that needs it.
    await import(url).catch(() => undefined)
  }
}

async function load(frame: LoadFrame): Promise<void> {
  setup = frame
  applyModuleRules(frame)
  const found: CommandFrame[] = []
  const seen = new Set<Definition>()
  for (const path of frame.modules) {
    send({ kind: 'loading', path })
    try {
      const exported = (await import(toUrl(path, frame.files))) as Record<string, unknown>
      for (const definition of Object.values(exported).flatMap(toDefinition)) {
        if (seen.has(definition)) continue
        seen.add(definition)
        const described = describe(definition, path)
        // Throw here if a value cannot be sent as JSON, so that the error names the module that is loading.
        JSON.stringify(described)
        found.push(described)
        commands.set(definition.name, definition)
      }
    } catch (thrown) {
      send({ kind: 'failed', path, ...toFault(thrown) })
      return
    }
  }
  send({ kind: 'loaded', commands: found })
  // Load the validator now, while the host checks the commands, because the first call will need the validator.
  if (found.some(({ isDynamic }) => !isDynamic)) void import(frame.validator)
}

/** Returns the URL of a file. Encodes each segment of the path, because file names may contain characters that are special in URLs. */
function toUrl(path: string, folder: string): string {
  return new URL(path.split('/').map(encodeURIComponent).join('/'), folder).href
}

function toDefinition(value: unknown): readonly Definition[] {
  const isCommand = typeof value === 'object' && value !== null && COMMAND in value
  return isCommand ? [(value as unknown as DefinedCommand).definition] : []
}

function describe(definition: Definition, path: string): CommandFrame {
  const { name, description, hints = {}, input } = definition
  if (typeof definition.run !== 'function')
    throw new TypeError(`the command ${JSON.stringify(name)} has no function "run"`)
  return { name, description, hints, path, isDynamic: isStandard(input), inputSchema: toSchema(input) }
}

function toSchema(input: Definition['input']): unknown {
  if (input === undefined) return NO_FIELDS
  if (!isStandard(input)) return input
  const { $schema: _, ...schema } = input['~standard'].jsonSchema?.input({ target: 'draft-2020-12' }) ?? {}
  return { type: 'object', ...schema }
}

function isStandard(input: Definition['input']): input is StandardSchema {
  return input !== undefined && '~standard' in input
}

async function call({ id, command, input, scratchDirectory }: CallFrame): Promise<void> {
  const definition = commands.get(command)
  if (definition === undefined || setup === undefined) {
    send({ kind: 'error', id, message: `there is no command ${JSON.stringify(command)}`, stack: '' })
    return
  }
  const controller = new AbortController()
  running.set(id, controller)
  const progress = createProgress(id)
  let hasScratch = false
  send({ kind: 'begun', id })
  try {
    const checked = await check(definition, input, setup.validator)
    if ('faults' in checked) {
      send({ kind: 'refused', id, faults: checked.faults })
      return
    }
    const value: unknown = await definition.run(checked.value, {
      signal: controller.signal,
      progress: progress.tell,
      log: (message: unknown) => {
        // Drop log output that arrives after the result was sent.
        if (running.has(id)) send({ kind: 'log', id, message: String(message) })
      },
      skillDirectory: setup.skillDirectory,
      // Created on first use.
      get scratchDirectory() {
        mkdirSync(scratchDirectory, { recursive: true, mode: 0o700 })
        hasScratch = true
        return scratchDirectory
      },
    })
    // Wait, so that an unhandled rejection of the command ends the process during this call and not during a later
    // call.
    await setImmediate()
    progress.flush()
    answer(id, value, setup.maxBytes)
  } catch (thrown) {
    progress.flush()
    send({ kind: 'error', id, ...toFault(thrown) })
  } finally {
    running.delete(id)
    // Remove the files that this process may write to. The host removes all other files after the process has ended.
    if (hasScratch) void rm(scratchDirectory, { recursive: true, force: true }).catch(() => undefined)
  }
}

async function check(definition: Definition, input: unknown, validator: string): Promise<CheckedInput> {
  const { input: schema = NO_FIELDS } = definition
  if (isStandard(schema)) return await checkByStandardSchema(schema, input)
  const checker = checkers.get(definition) ?? (await openJsonSchema(schema, validator))
  checkers.set(definition, checker)
  return checker(input)
}

function answer(id: number, value: unknown, maxBytes: number): void {
  const text = JSON.stringify(value) as string | undefined
  const bytes = Buffer.byteLength(text ?? '')
  if (bytes > maxBytes) send({ kind: 'too-large', id, bytes })
  else if (text === undefined) send({ kind: 'result', id })
  else channel.write(`{"kind":"result","id":${id},"value":${text}}\n`)
}

/** Sends the first progress report immediately, and later reports at intervals. Always sends the last report. */
function createProgress(id: number): {
  readonly tell: (done: number, total?: number, message?: string) => void
  readonly flush: () => void
} {
  let held: ChildFrame | undefined
  let last = -Infinity
  let timer: NodeJS.Timeout | undefined
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (held !== undefined) send(held)
    held = undefined
    last = performance.now()
  }
  return {
    flush,
    tell: (done, total, message) => {
      if (!running.has(id)) return
      held = {
        kind: 'progress',
        id,
        done,
        ...(total === undefined ? {} : { total }),
        ...(message === undefined ? {} : { message }),
      }
      if (performance.now() - last >= PROGRESS_INTERVAL_MS) flush()
      else timer ??= setTimeout(flush, PROGRESS_INTERVAL_MS).unref()
    },
  }
}

function toFault(thrown: unknown): { readonly message: string; readonly stack: string } {
  if (!(thrown instanceof Error)) return { message: String(thrown), stack: '' }
  const { message, stack = '', cause } = thrown
  // `fetch()` reports the actual reason of a failure only in `cause`.
  const reason = cause instanceof Error && !message.includes(cause.message) ? `: ${cause.message}` : ''
  return { message: `${message}${reason}`, stack }
}
