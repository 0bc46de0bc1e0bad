import type { ComponentChildren } from 'preact'
import type { TimelineChange, TimelineEntry } from 'skillstoke/client'
import { client } from '../client.ts'
import { listNames } from '../client-groups.ts'
import { ChangeText } from '../parts/change-text.tsx'
import { Shape } from '../parts/icons.tsx'
import { Ago } from '../parts/time.tsx'
import { useValue } from '../parts/use-loaded.ts'
import { toSkill } from '../route.ts'
import { type HistoryRecord, nameAuthor } from '../skill/author.ts'
import { describeStay } from '../skill-state.ts'
import { findRow } from '../store.ts'
import { type ChangeItem, describeReach } from './change-items.ts'

interface ChangeLineProps {
  readonly item: ChangeItem
  /** Follows the sentence. */
  readonly children?: ComponentChildren
}

/** Renders one change as a sentence. */
export function ChangeLine({ item, children }: ChangeLineProps): ComponentChildren {
  const { what, entry } = item
  const problem = what.kind === 'problem' ? what.problem.status : undefined
  return (
    <li>
      <Shape name={problem === 'broken' ? 'broken' : problem === undefined ? 'live' : 'wait'} />
      <p>
        <Sentence item={item} />
      </p>
      <Ago at={entry.at} />
      {children}
    </li>
  )
}

function Sentence({ item: { what, entry } }: { readonly item: ChangeItem }): ComponentChildren {
  if (what.kind === 'change') return <Change entry={entry} change={what.change} />
  if (what.kind === 'many') return `${what.count} skills changed: ${listNames(what.names)}.`
  const name = what.kind === 'fixed' ? what.name : what.problem.name
  const row = findRow(name)
  const link = <a href={toSkill(row?.target ?? name)}>{name}</a>
  if (what.kind === 'fixed') return <>{link} is fixed.</>
  const { status, message, serving } = what.problem
  const stays = <span class="to">{describeStay(serving)}</span>
  if (status === 'broken')
    return (
      <>
        A save of {link} is broken: {message}. {stays}
      </>
    )
  if (status === 'rejected')
    return (
      <>
        A newer text of {link} is rejected. {stays}
      </>
    )
  const waits = row?.status === 'pending' ? 'It waits for you; no agent has it.' : 'It waited for a decision.'
  return (
    <>
      {link} changed at its source. <span class="to">{waits}</span>
    </>
  )
}

/** What somebody did, if a text became live without a save. */
const DECISIONS: Readonly<Partial<Record<HistoryRecord['cause'], string>>> = {
  approve: 'approved',
  rollback: 'went back to an earlier text of',
  enable: 'enabled',
  disable: 'disabled',
}

interface ChangeProps {
  readonly entry: TimelineEntry
  readonly change: TimelineChange
}

/** Finds the record of a change: the nearest one with its text, or of the decision that took the text away. */
function findRecord(
  records: readonly HistoryRecord[],
  { from, to }: TimelineChange,
  at: number,
): HistoryRecord | undefined {
  return records
    .filter(({ revision, cause }) => (to === null ? cause === 'disable' && from !== null : revision === to))
    .sort((a, b) => Math.abs(a.at - at) - Math.abs(b.at - at))[0]
}

function Change({ entry, change }: ChangeProps): ComponentChildren {
  const { kind, name, from, to } = change
  const target = findRow(name)?.target ?? name
  const of = from === null || to === null ? undefined : { from, to }
  const diff = useValue(of && (() => client.diff(target, of)), [target, from, to])
  const history = useValue(findRow(name) && (() => client.history(target)), [target, to])
  const record = history && findRecord(history.records, change, Date.parse(entry.at))
  const verb = (record && DECISIONS[record.cause]) ?? (kind === 'modified' ? 'changed' : kind)
  return (
    <>
      {record === undefined ? `The folder was ${verb}:` : `${nameAuthor(record)} ${verb}`}{' '}
      <a href={toSkill(target)}>{name}</a>
      <ChangeText diff={diff} />{' '}
      <span class="to">
        {entry.detectedMs !== null && `Live after ${entry.detectedMs} ms. `}
        {describeReach(entry, name)}
      </span>
    </>
  )
}
