import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { RunEvent, SkillRow, SkillScriptsInfo } from 'skillstoke/client'
import { client } from '../client.ts'
import { Answer } from '../parts/answer.tsx'
import { Card } from '../parts/card.tsx'
import { ChangeButton } from '../parts/change-button.tsx'
import { describeFailure } from '../parts/describe-failure.ts'
import { Icon, Shape } from '../parts/icons.tsx'
import { act } from '../parts/overlay.tsx'
import { useLoaded } from '../parts/use-loaded.ts'
import { commandChanges } from '../store.ts'
import { SchemaForm, toInput } from './schema-form.tsx'

interface SkillProps {
  readonly row: SkillRow
  /** Any text that is different after each change of the skill. A new text makes the view load again. */
  readonly version: string
}

/** Renders the commands and scripts of a skill, so that a person can run them. */
export function RunView({ row, version }: SkillProps): ComponentChildren {
  const { name } = row
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
            <Rights row={row} info={info} />
            {choice !== undefined && (
              <Runner key={choice} row={row} choice={choice} info={info} version={version} />
            )}
          </Card>
        )
      }}
    </Answer>
  )
}

/** Says how the scripts are contained and what they may use. */
function Containment({ info }: { readonly info: SkillScriptsInfo }): ComponentChildren {
  const { containment, granted } = info
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

interface RightsProps {
  readonly row: SkillRow
  readonly info: SkillScriptsInfo
}

/** Renders the problems of the code, and the buttons that grant and revoke rights. */
function Rights({ row, info }: RightsProps): ComponentChildren {
  const { granted, missing, problems } = info
  const change = (verb: 'grant' | 'revoke', capabilities: readonly string[]): void =>
    act(async () => {
      // Sends the shown revision, so that the server refuses the grant if a newer revision exists.
      const looked = verb === 'grant' && row.serving !== null ? { revision: row.serving } : {}
      await client.grant({ verb, skill: row.target, capabilities, ...looked })
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

interface RunnerProps extends SkillProps {
  readonly choice: string
  readonly info: SkillScriptsInfo
}

const MAX_LINES = 500

/** Renders the form, the buttons and the result of a run. */
function Runner({ row, choice, info, version }: RunnerProps): ComponentChildren {
  const command = info.commands.find(each => each.name === choice)
  const form = useRef<HTMLFormElement>(null)
  const events = useSignal<readonly RunEvent[]>([])
  const isRepeated = useSignal(false)
  const running = useSignal<AbortController | undefined>(undefined)
  const fault = useSignal('')
  const firstVersion = useRef(version)

  const start = async (): Promise<void> => {
    running.value?.abort()
    const controller = new AbortController()
    const { signal } = controller
    // Only the newest run is shown.
    const isNewest = (): boolean => running.value === controller
    running.value = controller
    fault.value = ''
    events.value = []
    try {
      const filled = new FormData(form.current as HTMLFormElement)
      const values = Object.fromEntries(filled) as Readonly<Record<string, string>>
      const wish = command
        ? { command: choice, input: toInput(command.inputSchema, values) }
        : { path: choice, args: (values['args'] ?? '').split('\n').filter(Boolean) }
      for await (const event of client.run({ skill: row.name, ...wish }, { signal }))
        if (isNewest()) events.value = [...events.value, event].slice(-MAX_LINES)
    } catch (thrown) {
      if (isNewest()) fault.value = signal.aborted ? 'stopped' : describeFailure(thrown)
    } finally {
      if (isNewest()) running.value = undefined
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
      ref={form}
      class="runner"
      onSubmit={event => {
        event.preventDefault()
        void start()
      }}
    >
      {command === undefined ? (
        <label class="s">
          Arguments, one per line
          <textarea class="field" name="args" rows={2} />
        </label>
      ) : (
        <>
          <p class="s m">{command.description}</p>
          <SchemaForm schema={command.inputSchema} />
        </>
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
        {fault.value !== '' && <p role="alert">{fault.value}</p>}
        <Outcome events={events.value} isRunning={running.value !== undefined} />
      </div>
    </form>
  )
}

interface OutcomeProps {
  readonly events: readonly RunEvent[]
  readonly isRunning: boolean
}

function Outcome({ events, isRunning }: OutcomeProps): ComponentChildren {
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
