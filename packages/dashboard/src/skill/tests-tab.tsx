import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { SkillRow, SkillTestsInfo, TestCase, TestRunEvent } from 'skillstoke/client'
import { client } from '../client.ts'
import { Answer } from '../parts/answer.tsx'
import { Card, ScrolledTable } from '../parts/card.tsx'
import { ChangeButton } from '../parts/change-button.tsx'
import { plural } from '../parts/format.ts'
import { Icon, Shape } from '../parts/icons.tsx'
import { act, isBusy } from '../parts/overlay.tsx'
import { loadedValue, useLoaded } from '../parts/use-loaded.ts'
import { attention } from '../store.ts'
import { TryCard } from './try-card.tsx'

interface TestsTabProps {
  readonly row: SkillRow
  readonly version: string
}

const MAX_EXAMPLES = 3

/** Messages to try, and the tests as a matrix of messages and skills. */
export function TestsTab({ row, version }: TestsTabProps): ComponentChildren {
  const { name, serving } = row
  const round = useSignal(0)
  const tests = useLoaded(serving === null ? undefined : () => client.tests(name), [
    name,
    version,
    round.value,
  ])
  if (serving === null) return <p class="m">This folder is not served, so no conversation sees the skill.</p>
  const cases = loadedValue(tests)?.cases ?? []
  const fires = cases.filter(({ kind }) => kind === 'fires').slice(0, MAX_EXAMPLES)
  const examples = fires.length > 0 ? fires.map(({ message }) => message) : [`Use the skill "${name}".`]
  return (
    <>
      <TryCard key={name} row={row} examples={examples} />
      <Collisions name={name} />
      <Answer of={tests}>{value => <Matrix row={row} info={value} onRun={() => round.value++} />}</Answer>
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
          {suggestion !== undefined && ` ${suggestion}.`}
        </p>
      </div>
    )
  })
}

interface MatrixProps {
  readonly row: SkillRow
  readonly info: SkillTestsInfo
  readonly onRun: () => void
}

const NOTHING = 'nothing'
const MAX_OTHERS = 4
const MAX_ROWS = 20

/** Renders which message loads which skill. An outline marks the skill that should load. */
function Matrix({ row, info, onRun }: MatrixProps): ComponentChildren {
  const progress = useSignal('')
  const isWhole = useSignal(false)
  const { name } = row
  const { cases, model, calls, faults } = info
  const measured = cases.filter(({ trial }) => trial !== null)
  const passed = measured.filter(({ trial }) => trial?.passed === true).length
  const columns = [name, ...findOthers(name, cases), NOTHING]
  const shown = isWhole.value ? cases : cases.slice(0, MAX_ROWS)
  const run = (): void =>
    act(async () => {
      let result: Extract<TestRunEvent, { kind: 'result' }> | undefined
      for await (const event of client.runTests(name)) {
        if (event.kind === 'progress') progress.value = `${event.done} of ${event.of}`
        else if (event.kind === 'failed') throw new Error(event.message)
        else result = event
      }
      onRun()
      const { passed: good = 0, total = 0, reason } = result ?? {}
      const why = reason === undefined ? '' : ` It ended early: ${reason}.`
      return { text: `${good} of ${plural(total, 'test')} passed.${why}`, isFailure: reason !== undefined }
    })
  return (
    <Card
      title="Which message loads which skill"
      side={
        <>
          {measured.length > 0 && (
            <span class={`badge ${passed === measured.length ? 'b-live' : 'b-warn'}`}>
              <Shape name={passed === measured.length ? 'check' : 'warn'} />
              {passed} of {measured.length}
            </span>
          )}
          <span class="r bar-x">
            <span class="m">{isBusy.value && progress.value}</span>
            {model !== null && cases.length > 0 && (
              <ChangeButton onClick={run} disabled={calls === 0}>
                <Icon name="play" />
                {calls === 0
                  ? 'All are known'
                  : `Run ${plural(cases.length, 'test')}, ${plural(calls, 'call')} to ${model}`}
              </ChangeButton>
            )}
          </span>
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
          <ScrolledTable label="Test results" look="mx">
            <thead>
              <tr>
                <th scope="col">Message</th>
                {columns.map(each => (
                  <th key={each} scope="col" class={each === name ? 'me' : ''}>
                    {each}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              <Group
                title={`Should load ${name}`}
                name={name}
                columns={columns}
                cases={shown.filter(isFire)}
              />
              <Group
                title="Should not"
                name={name}
                columns={columns}
                cases={shown.filter(each => !isFire(each))}
              />
            </tbody>
          </ScrolledTable>
          <div class="foot">
            <span class="grow m">
              {measured.length > 0
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

function isFire({ kind }: TestCase): boolean {
  return kind === 'fires'
}

/** Names the other skills that took a message or came close, the most frequent first. */
function findOthers(name: string, cases: readonly TestCase[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const { trial, first, second } of cases) {
    const others = trial === null ? [first, second] : trial.others
    for (const other of others)
      if (other !== null && other !== name) counts.set(other, (counts.get(other) ?? 0) + 1)
  }
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, MAX_OTHERS)
    .map(([other]) => other)
}

interface GroupProps {
  readonly title: string
  readonly name: string
  readonly columns: readonly string[]
  readonly cases: readonly TestCase[]
}

function Group({ title, name, columns, cases }: GroupProps): ComponentChildren {
  if (cases.length === 0) return null
  const measured = cases.filter(({ trial }) => trial !== null)
  const passed = measured.filter(({ trial }) => trial?.passed === true).length
  return (
    <>
      <tr>
        <th class="grp" colSpan={columns.length + 1} scope="colgroup">
          {title}
          {measured.length > 0 && `: ${passed} of ${measured.length}`}
        </th>
      </tr>
      {cases.map(each => (
        <tr key={each.message}>
          <th scope="row">{each.message}</th>
          {columns.map(column => (
            <td key={column}>
              <Cell test={each} column={column} name={name} />
            </td>
          ))}
        </tr>
      ))}
    </>
  )
}

interface CellProps {
  readonly test: TestCase
  readonly column: string
  readonly name: string
}

function Cell({ test, column, name }: CellProps): ComponentChildren {
  const { kind, trial, first, second } = test
  const isWanted = kind === 'fires' && column === name
  const want = isWanted ? ' want' : ''
  if (trial === null) {
    const place =
      column === first
        ? '1st'
        : column === second
          ? '2nd'
          : first === null && column === NOTHING
            ? 'none fits'
            : ''
    return (
      <div class={`cell${want}${isWanted && place !== '1st' ? ' half' : ''}`}>
        {place === '' ? <None /> : <span class={place === '1st' ? 'strong' : ''}>{place}</span>}
      </div>
    )
  }
  const { loads, runs, others, passed } = trial
  if (column !== name) {
    const isTaken = others.includes(column) || (column === NOTHING && loads === 0 && others.length === 0)
    const isWrong = isTaken && kind === 'fires'
    return (
      <div class={isWrong ? 'cell no' : isTaken ? 'cell ok' : 'cell'}>
        {isTaken ? (
          <>
            <Shape name={isWrong ? 'broken' : 'check'} />
            {column === NOTHING ? '' : 'loaded'}
          </>
        ) : (
          <None />
        )}
      </div>
    )
  }
  const isShaky = loads > 0 && loads < runs
  if (kind === 'silent' && loads === 0) return <None />
  const look = passed !== true ? 'no' : isShaky ? 'half' : 'ok'
  return (
    <div class={`cell ${look}${want}`}>
      <Shape name={passed === true ? 'check' : 'broken'} />
      {loads}/{runs}
    </div>
  )
}

function None(): ComponentChildren {
  return (
    <span class="cell" role="img" aria-label="not loaded">
      ·
    </span>
  )
}
