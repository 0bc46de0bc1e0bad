import { signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { SkillRow, SkillTestsInfo, TestCase } from 'skillstoke/client'
import { client } from '../client.ts'
import { Answer } from '../parts/answer.tsx'
import { Card, RowGroup, Table } from '../parts/card.tsx'
import { ChangeButton } from '../parts/change-button.tsx'
import { describeFailure } from '../parts/describe-failure.ts'
import { plural } from '../parts/format.ts'
import { Icon, Shape, type ShapeName } from '../parts/icons.tsx'
import { show } from '../parts/overlay.tsx'
import { loadedValue, useLoaded } from '../parts/use-loaded.ts'
import { attention } from '../store.ts'
import { TryCard } from './try-card.tsx'

interface TestsTabProps {
  readonly row: SkillRow
  readonly version: string
}

interface TestRun {
  readonly skill: string
  readonly progress: string
  readonly stop: () => void
}

/** The tests that run now. They go on while the person reads another skill. */
const running = signal<TestRun | undefined>(undefined)

async function runTests(skill: string): Promise<void> {
  const controller = new AbortController()
  const { signal: stopped } = controller
  const follow = (progress: string): void => {
    running.value = { skill, progress, stop: () => controller.abort() }
  }
  follow('')
  try {
    for await (const event of client.runTests(skill, { signal: stopped })) {
      if (event.kind === 'failed') throw new Error(event.message)
      if (event.kind === 'progress') follow(`${event.done} of ${event.of}`)
      else {
        const { passed, total, reason } = event
        const why = reason === undefined ? '' : ` It ended early: ${reason}.`
        show({ text: `${passed} of ${plural(total, 'test')} passed.${why}`, isFailure: reason !== undefined })
      }
    }
  } catch (thrown) {
    if (stopped.aborted) show({ text: 'Cancelled. The answers that arrived are kept.' })
    else show({ text: describeFailure(thrown), isFailure: true })
  } finally {
    running.value = undefined
  }
}

const MAX_EXAMPLES = 3

/** Messages to try, and the tests as a matrix of messages and skills. */
export function TestsTab({ row, version }: TestsTabProps): ComponentChildren {
  const { name, serving } = row
  const ask = serving === null ? undefined : () => client.tests(name)
  const tests = useLoaded(ask, [name, version, running.value === undefined])
  if (serving === null) return <p class="m">This folder is not served, so no conversation sees the skill.</p>
  const cases = loadedValue(tests)?.cases ?? []
  const fires = cases.filter(({ kind }) => kind === 'fires').slice(0, MAX_EXAMPLES)
  const examples = [
    ...fires.map(({ message }) => message),
    `Use the skill "${name}".`,
    `/${name}`,
    'Which skills do you have?',
  ].slice(0, MAX_EXAMPLES)
  return (
    <>
      <TryCard key={name} row={row} examples={examples} />
      <Collisions name={name} />
      <Answer of={tests}>{info => <Matrix name={name} info={info} />}</Answer>
    </>
  )
}

/** Names the skills that compete for the same messages. */
function Collisions({ name }: { readonly name: string }): ComponentChildren {
  const own = attention.value.collisions.filter(({ skills }) => skills.some(each => each.name === name))
  return own.map(({ skills, shared, suggestion }) => {
    const other = skills.find(each => each.name !== name)?.name
    return (
      <div key={other} class="note warn">
        <Shape name="warn" />
        <p>
          <strong>{other} fits the same messages.</strong> Both descriptions are about {shared.join(', ')}.
          {suggestion !== undefined && ` ${suggestion.replace(/[^"]$/, '$&.')}`}
        </p>
      </div>
    )
  })
}

interface MatrixProps {
  readonly name: string
  readonly info: SkillTestsInfo
}

const NOTHING = 'nothing'
const MAX_OTHERS = 4
const MAX_ROWS = 20

/** Renders which message loads which skill. An outline marks the skill that should load. */
function Matrix({ name, info }: MatrixProps): ComponentChildren {
  const isWhole = useSignal(false)
  const { cases, faults } = info
  const { measured, passed } = countPassed(cases)
  const columns = [name, ...findOthers(name, cases), NOTHING]
  const shown = isWhole.value ? cases : cases.slice(0, MAX_ROWS)
  const groups = Map.groupBy(shown, ({ kind }) => (kind === 'fires' ? `Should load ${name}` : 'Should not'))
  return (
    <Card
      title="Which message loads which skill"
      side={
        <>
          {measured > 0 && (
            <span class={`badge ${passed === measured ? 'b-live' : 'b-warn'}`}>
              <Shape name={passed === measured ? 'check' : 'warn'} />
              {passed} of {measured}
            </span>
          )}
          <RunButton name={name} info={info} />
        </>
      }
    >
      {faults.map(({ message, path, line, fix }) => (
        <p key={message} class="s none" role="alert">
          {path}
          {line !== undefined && `:${line}`}: {message}; {fix}
        </p>
      ))}
      {cases.length === 0 ? (
        <p class="s m none">
          No tests yet. Send a message above, and choose “should load {name}”. It is written to
          evals/tests.yaml.
        </p>
      ) : (
        <>
          <Table
            label="Test results"
            look="mx"
            columns={['Message', ...columns.map(each => (each === name ? <b>{each}</b> : each))]}
          >
            {[...groups].map(([title, own]) => {
              const count = countPassed(own)
              const score = count.measured > 0 && `: ${count.passed} of ${count.measured}`
              return (
                <RowGroup key={title} title={[title, score]} width={columns.length + 1}>
                  {own.map(test => (
                    <tr key={test.message}>
                      <th scope="row">{test.message}</th>
                      {columns.map(column => (
                        <td key={column}>
                          <Cell test={test} column={column} name={name} />
                        </td>
                      ))}
                    </tr>
                  ))}
                </RowGroup>
              )
            })}
          </Table>
          <div class="foot">
            <span class="grow m">
              {measured > 0
                ? 'An outline marks the skill that should load. The figures are runs of the model.'
                : 'No model was asked. 1st and 2nd are the skills that share most words with the message.'}
            </span>
            {cases.length > shown.length && (
              <button type="button" class="btn sm bare" onClick={() => (isWhole.value = true)}>
                Show all {cases.length}
              </button>
            )}
          </div>
        </>
      )}
    </Card>
  )
}

/** Runs the tests with the model. Meanwhile only this button waits. */
function RunButton({ name, info: { model, calls, cases } }: MatrixProps): ComponentChildren {
  const run = running.value
  if (model === null || cases.length === 0) return null
  return (
    <span class="r bar-x">
      {run !== undefined && (
        <>
          <span class="m">{run.skill === name ? run.progress : `${run.skill} is tested`}</span>
          <button type="button" class="btn sm" onClick={run.stop}>
            Cancel
          </button>
        </>
      )}
      <ChangeButton onClick={() => void runTests(name)} disabled={calls === 0 || run !== undefined}>
        <Icon name="play" />
        {calls === 0
          ? 'All are known'
          : `Run ${plural(cases.length, 'test')}, ${plural(calls, 'call')} to ${model}`}
      </ChangeButton>
    </span>
  )
}

function countPassed(cases: readonly TestCase[]): { readonly measured: number; readonly passed: number } {
  const trials = cases.map(({ trial }) => trial).filter(trial => trial !== null)
  return { measured: trials.length, passed: trials.filter(({ passed }) => passed).length }
}

/** Names the other skills that took a message or came close, the most frequent first. */
function findOthers(name: string, cases: readonly TestCase[]): readonly string[] {
  const near = cases.flatMap(
    ({ trial, first, second }): readonly (string | null)[] => trial?.others ?? [first, second],
  )
  const others = near.filter(other => other !== null).filter(other => other !== name)
  return [...Map.groupBy(others, other => other)]
    .sort(([, a], [, b]) => b.length - a.length)
    .slice(0, MAX_OTHERS)
    .map(([other]) => other)
}

interface CellProps {
  readonly test: TestCase
  readonly column: string
  readonly name: string
}

function Cell({ test, column, name }: CellProps): ComponentChildren {
  const { look, shape, text } = toMark(test, column, name)
  const want = test.kind === 'fires' && column === name ? 'want' : ''
  return (
    <div class={`cell ${look} ${want}`}>
      {shape && <Shape name={shape} />}
      {text ?? (
        <span role="img" aria-label="not loaded">
          ·
        </span>
      )}
    </div>
  )
}

interface Mark {
  readonly look: 'ok' | 'no' | 'half' | ''
  readonly shape?: ShapeName
  /** Absent if the skill was not loaded. */
  readonly text?: ComponentChildren
}

/** Says what happened to a message in the column of a skill. */
function toMark({ kind, trial, first, second }: TestCase, column: string, name: string): Mark {
  const isWanted = kind === 'fires' && column === name
  if (trial === null) {
    if (column === first) return { look: '', text: <b>1st</b> }
    const look = isWanted ? 'half' : ''
    if (column === second) return { look, text: '2nd' }
    return first === null && column === NOTHING ? { look, text: 'none fits' } : { look }
  }
  const { loads, runs, others, passed } = trial
  if (column !== name) {
    const text = column === NOTHING ? '' : 'loaded'
    const isTaken = others.includes(column) || (column === NOTHING && loads === 0 && others.length === 0)
    if (!isTaken) return { look: '' }
    return kind === 'fires' ? { look: 'no', shape: 'broken', text } : { look: 'ok', shape: 'check', text }
  }
  if (kind === 'silent' && loads === 0) return { look: '' }
  const text = `${loads}/${runs}`
  if (passed !== true) return { look: 'no', shape: 'broken', text }
  return { look: loads > 0 && loads < runs ? 'half' : 'ok', shape: 'check', text }
}
