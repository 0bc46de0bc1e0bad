import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { RunEvent, RunRequest, SkillScriptsInfo } from 'skillstoke/client'
import { client } from '../client.ts'
import { Answer } from '../parts/answer.tsx'
import { Card } from '../parts/card.tsx'
import { ChangeButton } from '../parts/change-button.tsx'
import { Icon, Shape } from '../parts/icons.tsx'
import { act } from '../parts/overlay.tsx'
import { useLoaded } from '../parts/use-loaded.ts'
import { commandChanges } from '../store.ts'
import { SchemaForm, toFields, toInput } from './schema-form.tsx'

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
  return (
    <Answer of={loaded}>
      {info => {
        const choices = [...info.commands.map(command => command.name), ...info.scripts]
        const choice = choices.find(each => each === chosen.value) ?? choices[0]
        if (choice === undefined && info.problems.length === 0) return null
        return (
          <Card
            title={`Run ${choices.length === 1 ? choice : ''}`}
            side={
              <>
                {choices.length > 1 && (
                  <select
                    class="field"
                    aria-label="Command or script"
                    value={choice}
                    onChange={event => (chosen.value = event.currentTarget.value)}
                  >
                    {choices.map(each => (
                      <option key={each} value={each}>
                        {each}
                      </option>
                    ))}
                  </select>
                )}
                <Containment info={info} />
              </>
            }
          >
            <Rights target={target} serving={serving} info={info} />
            {choice !== undefined && (
              <Runner key={`${name} ${choice}`} name={name} choice={choice} info={info} version={version} />
            )}
          </Card>
        )
      }}
    </Answer>
  )
}

interface InfoProps {
  readonly info: SkillScriptsInfo
}

/** Says how the scripts are contained and what they may use. */
function Containment({ info: { containment, granted } }: InfoProps): ComponentChildren {
  const isSandboxed = containment.kind === 'sandbox'
  return (
    <>
      <span class={`badge ${isSandboxed ? 'b-live' : 'b-warn'}`} title={containment.detail}>
        <Shape name={isSandboxed ? 'live' : 'warn'} />
        {isSandboxed ? 'in a sandbox' : 'contained by Node only'}
      </span>
      <span class="r m">
        {granted.length === 0 ? 'no rights are granted' : `Granted: ${granted.join(', ')}`}
      </span>
    </>
  )
}

interface RightsProps extends InfoProps {
  readonly target: string
  readonly serving: string | null
}

/** Renders the problems of the code, and the buttons that grant and revoke rights. */
function Rights({ target, serving, info }: RightsProps): ComponentChildren {
  const { granted, missing, problems } = info
  // Sends the shown revision, so that the server refuses the grant if a newer revision exists.
  const looked = serving === null ? {} : { revision: serving }
  const change = (verb: 'grant' | 'revoke', capabilities: readonly string[]): void =>
    act(async () => {
      await client.grant({ verb, skill: target, capabilities, ...(verb === 'grant' ? looked : {}) })
      return { text: `${verb === 'grant' ? 'Granted' : 'Revoked'} ${capabilities.join(', ')}.` }
    })
  if (problems.length + missing.length + granted.length === 0) return null
  return (
    <div class="rights">
      {problems.map(problem => (
        <div key={JSON.stringify(problem)} class={`finding f-${problem.severity}`}>
          <Shape name={problem.severity === 'error' ? 'broken' : 'warn'} />
          <p>
            <b>
              {problem.path}
              {problem.line !== undefined && ` line ${problem.line}`}
            </b>{' '}
            {problem.message}
          </p>
        </div>
      ))}
      <div class="bar-x">
        {missing.length > 0 && (
          <ChangeButton onClick={() => change('grant', missing)}>Grant {missing.join(', ')}</ChangeButton>
        )}
        {granted.length > 0 && (
          <ChangeButton class="btn sm bare" onClick={() => change('revoke', granted)}>
            Revoke {granted.join(', ')}
          </ChangeButton>
        )}
      </div>
    </div>
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
      {command !== undefined && <p class="s m">{command.description}</p>}
      {command === undefined ? (
        <label class="s">
          Arguments, one per line
          <textarea
            class="field"
            rows={2}
            value={args.value}
            onInput={event => (args.value = event.currentTarget.value)}
          />
        </label>
      ) : (
        <SchemaForm
          fields={fields}
          values={values.value}
          onChange={(field, value) => (values.value = { ...values.value, [field]: value })}
        />
      )}
      <div class="bar-x">
        <ChangeButton class="btn primary" type="submit">
          <Icon name="play" />
          Run
        </ChangeButton>
        {running.value !== undefined && (
          <button type="button" class="btn" onClick={() => running.value?.abort()}>
            Stop
          </button>
        )}
        <label class="check s">
          <input
            type="checkbox"
            checked={isRepeated.value}
            onChange={event => (isRepeated.value = event.currentTarget.checked)}
          />{' '}
          Run again on save
        </label>
      </div>
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
          <p class="s m">
            {last.exitCode !== undefined && last.exitCode !== 0
              ? `Exit code ${last.exitCode ?? 'none'}`
              : 'Done'}{' '}
            in {last.durationMs} ms
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
