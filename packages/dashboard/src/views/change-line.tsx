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
import { findRow } from '../store.ts'
import { type ChangeItem, describeReach } from './change-items.ts'

/** Renders one change as a sentence. The children follow it. */
export function ChangeLine({
  item,
  children,
}: {
  readonly item: ChangeItem
  readonly children?: ComponentChildren
}): ComponentChildren {
  const { what, entry } = item
  const isBroken = what.kind === 'problem' && what.problem.status === 'broken'
  return (
    <li>
      <Shape name={isBroken ? 'broken' : what.kind === 'problem' ? 'wait' : 'live'} />
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
  const link = <a href={toSkill(findRow(name)?.target ?? name)}>{name}</a>
  if (what.kind === 'fixed') return <>{link} is fixed.</>
  const { status, message, serving } = what.problem
  const stays = serving === null ? 'Nothing is live.' : 'The text before it stays live.'
  if (status === 'broken')
    return (
      <>
        A save of {link} is broken: {message}. <span class="to">{stays}</span>
      </>
    )
  if (status === 'rejected')
    return (
      <>
        A newer text of {link} is rejected. <span class="to">{stays}</span>
      </>
    )
  const waits = findRow(name)?.status === 'pending'
  return (
    <>
      {link} changed at its source.{' '}
      <span class="to">{waits ? 'It waits for you; no agent has it.' : 'It waited for a decision.'}</span>
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

function Change({ entry, change: { kind, name, from, to } }: ChangeProps): ComponentChildren {
  const target = findRow(name)?.target ?? name
  const of = from === null || to === null ? undefined : { from, to }
  const diff = useValue(of && (() => client.diff(target, of)), [target, from, to])
  const history = useValue(to === null ? undefined : () => client.history(target), [target, to])
  const record = history?.records.find(({ revision }) => revision === to)
  const known = record && DECISIONS[record.cause]
  const verb = known ?? (kind === 'modified' ? 'changed' : kind)
  return (
    <>
      {record === undefined ? `The folder was ${verb}:` : `${nameAuthor(record)} ${verb}`}{' '}
      <a href={toSkill(target)}>{name}</a>
      {diff !== undefined && diff.texts.length > 0 && (
        <>
          : <ChangeText diff={diff} />
        </>
      )}{' '}
      <span class="to">
        {entry.detectedMs !== null && `Live after ${entry.detectedMs} ms. `}
        {describeReach(entry, name)}
      </span>
    </>
  )
}
