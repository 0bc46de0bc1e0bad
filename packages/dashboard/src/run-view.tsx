import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { RunEvent, RunRequest, SkillScriptsInfo } from 'skillstoke/client'
import { client } from './client.ts'
import { shortDigest } from './format.ts'
import { SchemaForm, toFields, toInput } from './schema-form.tsx'
import { commandChanges } from './store.ts'
import { useAction } from './use-action.ts'
import { useLoaded } from './use-loaded.ts'

interface RunViewProps {
  readonly name: string
  /** `source/name`, for decisions. */
  readonly target: string
  /** Any text that is different after each change of the skill. A new text makes the view load again. */
  readonly version: string
  /** The served revision. */
  readonly serving: string | null
}

/** Renders the commands and scripts of a skill, so that a person can run them. */
export function RunView({ name, target, version, serving }: RunViewProps): ComponentChildren {
  const chosen = useSignal<string | undefined>(undefined)
  const changes = commandChanges.value.get(name) ?? 0
  const loaded = useLoaded(() => client.scripts(name), [name, version, changes])
  if (loaded === undefined) return <p class="empty">Loading …</p>
  if ('failure' in loaded) return <p role="alert">{loaded.failure}</p>
  const info = loaded.value
  const choices = [...info.commands.map(command => command.name), ...info.scripts]
  const choice = choices.includes(chosen.value ?? '') ? (chosen.value as string) : choices[0]
  return (
    <>
      <Permissions target={target} serving={serving} info={info} />
      {choice === undefined ? (
        <p class="empty">This skill has nothing to run.</p>
      ) : (
        <>
          <p class="field">
            <label for="run-choice">Command or script</label>
            <select
              id="run-choice"
              value={choice}
              onChange={event => (chosen.value = event.currentTarget.value)}
            >
              {choices.map(each => (
                <option key={each} value={each}>
                  {each}
                </option>
              ))}
            </select>
          </p>
          <Runner key={`${name} ${choice}`} name={name} choice={choice} info={info} version={version} />
        </>
      )}
    </>
  )
}

interface PermissionsProps {
  readonly target: string
  readonly serving: string | null
  readonly info: SkillScriptsInfo
}

/** Renders the granted and requested capabilities of the scripts, and the problems of the code. */
function Permissions({ target, serving, info }: PermissionsProps): ComponentChildren {
  const { isRunning, failure, run } = useAction()
  const { granted, missing, problems, containment } = info
  // Sends the shown revision, so that the server refuses the grant if a newer revision exists.
  const looked = serving === null ? {} : { revision: serving }
  return (
    <section aria-label="Permissions">
      <p class="note">
        {containment.kind === 'sandbox'
          ? 'Runs in a sandbox: '
          : 'Contained by the permissions of Node only: '}
        {containment.detail}.{' '}
        {granted.length === 0 ? 'No capabilities are granted.' : `Granted: ${granted.join(', ')}.`}
      </p>
      {problems.length > 0 && (
        <ul class="findings" aria-label="Problems of the scripts">
          {problems.map(({ code, severity, message, path, line }) => (
            <li key={`${code} ${path} ${line} ${message}`} class={severity}>
              <strong>{severity}</strong> {path}
              {line !== undefined && ` line ${line}`} {message} <code>{code}</code>
            </li>
          ))}
        </ul>
      )}
      {(missing.length > 0 || granted.length > 0) && (
        <p class="buttons">
          {missing.length > 0 && (
            <button
              type="button"
              disabled={isRunning}
              onClick={() =>
                run(() => client.grant({ verb: 'grant', skill: target, capabilities: missing, ...looked }))
              }
            >
              Grant {missing.join(', ')}
            </button>
          )}
          {granted.length > 0 && (
            <button
              type="button"
              class="plain"
              disabled={isRunning}
              onClick={() =>
                run(() => client.grant({ verb: 'revoke', skill: target, capabilities: granted }))
              }
            >
              Revoke {granted.join(', ')}
            </button>
          )}
        </p>
      )}
      {failure !== undefined && <p role="alert">{failure}</p>}
    </section>
  )
}

interface RunnerProps {
  readonly name: string
  readonly choice: string
  readonly info: SkillScriptsInfo
  readonly version: string
}

const MAX_LINES = 500

/** Renders the form, the buttons and the result of a run. */
function Runner({ name, choice, info, version }: RunnerProps): ComponentChildren {
  const command = info.commands.find(each => each.name === choice)
  const fields = command === undefined ? [] : toFields(command.inputSchema)
  const values = useSignal<Readonly<Record<string, string>>>({})
  const args = useSignal('')
  const events = useSignal<readonly RunEvent[]>([])
  const isRepeated = useSignal(false)
  const running = useSignal<AbortController | undefined>(undefined)
  const fault = useSignal<string | undefined>(undefined)
  const firstVersion = useRef(version)

  const start = async (): Promise<void> => {
    running.value?.abort()
    const controller = new AbortController()
    running.value = controller
    fault.value = undefined
    events.value = []
    try {
      const request: RunRequest =
        command === undefined
          ? { skill: name, path: choice, args: args.value.split('\n').filter(line => line !== '') }
          : { skill: name, command: choice, input: toInput(fields, values.value) }
      for await (const event of client.run(request, { signal: controller.signal }))
        if (running.value === controller) events.value = [...events.value, event].slice(-MAX_LINES)
    } catch (error) {
      // Shows the error of a run only if no newer run has started.
      if (running.value === controller)
        fault.value = controller.signal.aborted ? 'stopped' : (error as Error).message
    } finally {
      if (running.value === controller) running.value = undefined
    }
  }

  // While the box is checked, runs the command again after each change of the skill. Stops the run when the form is
  // removed.
  useEffect(() => {
    if (isRepeated.value && version !== firstVersion.current) void start()
    firstVersion.current = version
  }, [version])
  useEffect(() => () => running.value?.abort(), [])

  return (
    <form
      class="runner"
      onSubmit={event => {
        event.preventDefault()
        void start()
      }}
    >
      {command !== undefined && <p>{command.description}</p>}
      {command === undefined ? (
        <p class="field">
          <label for="run-args">Arguments, one per line</label>
          <textarea
            id="run-args"
            rows={3}
            value={args.value}
            onInput={event => (args.value = event.currentTarget.value)}
          />
        </p>
      ) : (
        <SchemaForm
          fields={fields}
          values={values.value}
          onChange={(field, value) => (values.value = { ...values.value, [field]: value })}
        />
      )}
      <p class="buttons">
        <button type="submit">Run</button>
        {running.value !== undefined && (
          <button type="button" class="plain" onClick={() => running.value?.abort()}>
            Stop
          </button>
        )}
        <label>
          <input
            type="checkbox"
            checked={isRepeated.value}
            onChange={event => (isRepeated.value = event.currentTarget.checked)}
          />{' '}
          Run again on save
        </label>
      </p>
      <div aria-live="polite">
        {fault.value !== undefined && <p role="alert">{fault.value}</p>}
        <Outcome events={events.value} isRunning={running.value !== undefined} />
      </div>
    </form>
  )
}

function Outcome({
  events,
  isRunning,
}: {
  readonly events: readonly RunEvent[]
  readonly isRunning: boolean
}): ComponentChildren {
  const progress = events.findLast(event => event.kind === 'progress')
  const last = events.at(-1)
  const lines = events.filter(event => event.kind === 'line')
  return (
    <>
      {isRunning && progress !== undefined && (
        <p>
          <progress
            {...(progress.total === undefined ? {} : { value: progress.done, max: progress.total })}
            aria-label="Progress"
          />{' '}
          {progress.message}
        </p>
      )}
      {last?.kind === 'result' && (
        <>
          <p class="note">
            {last.exitCode !== undefined && last.exitCode !== 0
              ? `Exit code ${last.exitCode ?? 'none'}`
              : 'Done'}{' '}
            in {last.durationMs} ms, at revision <code>{shortDigest(last.revision)}</code>
          </p>
          <pre class="result">{last.text}</pre>
        </>
      )}
      {last?.kind === 'failed' && (
        <p role="alert">
          {last.message} <code>{last.code}</code>
        </p>
      )}
      {lines.length > 0 && (
        <details open={last?.kind !== 'result'}>
          <summary>{lines.length} lines written</summary>
          <pre class="lines">{lines.map(line => `${line.stream}: ${line.text}`).join('\n')}</pre>
        </details>
      )}
    </>
  )
}
