import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { SkillRow } from 'skillstoke/client'
import { client } from '../client.ts'
import { ChangeButton } from '../parts/change-button.tsx'
import { ChangeText } from '../parts/change-text.tsx'
import { LineCounts, LoadedDifference } from '../parts/difference.tsx'
import { isSkillFile, plural, shortDigest } from '../parts/format.ts'
import { Shape } from '../parts/icons.tsx'
import { question } from '../parts/overlay.tsx'
import { Ago, formatMoment } from '../parts/time.tsx'
import { useValue } from '../parts/use-loaded.ts'
import { isOwn } from '../store.ts'
import { askRestore } from './actions.tsx'
import { countChanges, findLive, type HistoryRecord, nameAuthor, type ShownSkill } from './author.ts'

const MAX_LINES = 12

/** Every recorded text, newest first. A line opens its difference, two can be compared, and each can be restored. */
export function ChangesTab({ row, records, detail }: ShownSkill): ComponentChildren {
  const keys = useSignal<readonly string[]>([])
  const chosen = records.filter(each => keys.value.includes(keyOf(each)))
  const isWhole = useSignal(false)
  const shown = isWhole.value ? records : records.slice(0, MAX_LINES)
  const oldest = records.at(-1)
  const count = countChanges(records)
  const live = findLive(records, row.serving)
  const compare = (): void => {
    // The older of the two is on the left.
    const [from, to] = chosen.toSorted((a, b) => a.at - b.at)
    question.value = {
      title: `Two texts of ${row.name}`,
      preview: <LoadedDifference target={row.target} from={from?.revision} to={to?.revision} />,
    }
  }
  const toggle = (key: string): void => {
    const others = keys.value.filter(each => each !== key)
    keys.value = others.length < keys.value.length ? others : [...others, key].slice(-2)
  }
  const line = row.diagnostics.find(({ severity }) => severity === 'error')?.line
  return (
    <>
      <div class="bar-x">
        <span class="s m grow">
          {count === 0 ? 'No changes' : plural(count, 'change')}
          {oldest === undefined ? ' yet.' : ` since ${formatMoment(oldest.at)}. `}
          {records.length > 1 && 'Select two to compare them.'}
        </span>
        <button type="button" class="btn sm" disabled={chosen.length !== 2} onClick={compare}>
          Compare two
        </button>
      </div>
      <ul class="card chg">
        {detail.refusedText !== null && (
          <Line when="now" difference={<LoadedDifference key={detail.refusedText} target={row.target} />}>
            A save is broken{line !== undefined && ` in line ${line}`}{' '}
            <span class="badge b-broken">
              <Shape name="broken" />
              not live
            </span>
          </Line>
        )}
        {shown.map((record, index) => (
          <RecordLine
            key={keyOf(record)}
            row={row}
            record={record}
            before={findBefore(record, records.slice(index + 1))}
            isLive={record === live}
            choice={
              <input
                type="checkbox"
                aria-label={`Compare the text of ${new Date(record.at).toLocaleString('en-GB')}`}
                checked={chosen.includes(record)}
                onChange={() => toggle(keyOf(record))}
              />
            }
          />
        ))}
        {records.length > shown.length && (
          <li>
            <button type="button" class="btn sm bare" onClick={() => (isWhole.value = true)}>
              {plural(records.length - shown.length, 'older change')}
            </button>
          </li>
        )}
      </ul>
    </>
  )
}

function keyOf({ at, cause, revision }: HistoryRecord): string {
  return `${at} ${cause} ${revision}`
}

/** Returns the revision before a text. */
function findBefore({ revision }: HistoryRecord, older: readonly HistoryRecord[]): string | undefined {
  return older.find(each => each.revision !== undefined && each.revision !== revision)?.revision
}

interface RecordLineProps {
  readonly row: SkillRow
  readonly record: HistoryRecord
  /** The revision before this one. */
  readonly before: string | undefined
  readonly isLive: boolean
  readonly choice: ComponentChildren
}

function RecordLine({ row, record, before, isLive, choice }: RecordLineProps): ComponentChildren {
  const { revision, at, event, note, cause } = record
  const to = event === 'decided' ? undefined : revision
  const isText = to !== undefined && before !== undefined
  const diff = useValue(isText ? () => client.diff(row.target, { from: before, to }) : undefined, [
    row.target,
    before,
    to,
  ])
  const main = diff?.texts.find(({ path }) => isSkillFile(path))
  const when = formatMoment(at)
  const mayRestore = to !== undefined && event === 'live' && to !== row.serving
  return (
    <Line
      choice={to !== undefined && choice}
      when={<Ago at={at} />}
      difference={isText && <LoadedDifference target={row.target} from={before} to={to} />}
      side={
        <>
          {isLive && (
            <span class="badge b-live">
              <Shape name="live" />
              live
            </span>
          )}
          {main !== undefined && <LineCounts texts={main} />}
          {mayRestore && (
            <ChangeButton
              class="btn sm bare"
              label={`Restore the text of ${new Date(at).toLocaleString('en-GB')}`}
              title={shortDigest(to)}
              onClick={() => askRestore(row, to, when)}
            >
              Restore…
            </ChangeButton>
          )}
        </>
      }
    >
      {nameAuthor(record)}{' '}
      {event === 'held'
        ? isOwn(row)
          ? 'saved a text, which was not live'
          : 'offered a text, which waited'
        : CAUSES[cause]}
      <ChangeText diff={diff} />
      {note !== undefined && <span class="m"> “{note}”</span>}
    </Line>
  )
}

interface LineProps {
  readonly choice?: ComponentChildren
  readonly when: ComponentChildren
  readonly children: ComponentChildren
  readonly side?: ComponentChildren
  /** Shown when the line is opened. */
  readonly difference: ComponentChildren
}

function Line({ choice, when, children, side, difference }: LineProps): ComponentChildren {
  const isOpen = useSignal(false)
  return (
    <li data-open={isOpen.value || undefined}>
      <div class="line">
        <span>{choice}</span>
        <span class="when m">{when}</span>
        <button
          type="button"
          class="t"
          aria-expanded={isOpen.value}
          disabled={!difference}
          onClick={() => (isOpen.value = !isOpen.value)}
        >
          {children}
        </button>
        <span class="bar-x">{side}</span>
      </div>
      {isOpen.value && <div class="opened">{difference}</div>}
    </li>
  )
}

const CAUSES: Readonly<Record<HistoryRecord['cause'], string>> = {
  found: 'had this text when it was first seen',
  edit: 'changed it',
  fetch: 'changed it',
  rollback: 'restored an earlier text',
  removal: 'removed it',
  approve: 'approved a text',
  reject: 'rejected a text',
  withdraw: 'took a decision back',
  pin: 'kept a text',
  unpin: 'let it follow its folder again',
  disable: 'disabled it',
  enable: 'enabled it',
  grant: 'granted rights to its scripts',
  revoke: 'took rights from its scripts',
  freeze: 'froze its source',
  thaw: 'let its source change again',
  write: 'wrote it',
}
