import type { ComponentChildren } from 'preact'
import type { ApiClient, DecisionVerb, SkillRow } from 'skillstoke/client'
import { shortDigest } from './format.ts'
import { useAction } from './use-action.ts'
import { useLoaded } from './use-loaded.ts'

interface ReviewPanelProps {
  readonly row: SkillRow
  readonly client: ApiClient
}

const VERBS: Readonly<Record<SkillRow['status'], readonly DecisionVerb[]>> = {
  ok: ['pin', 'disable'],
  warning: ['pin', 'disable'],
  broken: ['disable'],
  pending: ['approve', 'reject', 'disable'],
  rejected: ['approve', 'disable'],
  pinned: ['unpin', 'disable'],
  shadowed: ['disable'],
  disabled: ['enable'],
}

const WORDS: Readonly<Record<DecisionVerb, string>> = {
  approve: 'Approve',
  reject: 'Reject',
  pin: 'Pin this revision',
  unpin: 'Unpin',
  enable: 'Enable',
  disable: 'Disable',
}

/** What a person can decide about a skill, with what is new about the revision that waits. */
export function ReviewPanel({ row, client }: ReviewPanelProps): ComponentChildren {
  const { isRunning, failure, run } = useAction()
  const isWaiting = row.status === 'pending' || row.status === 'rejected'
  const target = `${row.source}/${row.name}`
  const diff = useLoaded(isWaiting ? () => client.diff(target) : undefined, [
    target,
    row.revision,
    row.status,
  ])
  const grown = diff !== undefined && 'value' in diff ? diff.value.newCapabilities : []
  const decide = (verb: DecisionVerb): void => {
    // The revision that is on the page: when there is another one by now, the server says so.
    const looked = isWaiting && row.revision !== null ? { revision: row.revision } : {}
    run(() => client.decide({ verb, skill: target, ...looked }))
  }
  return (
    <section class="review" aria-label="Decisions">
      {isWaiting && row.revision !== null && (
        <p>
          Revision <code>{shortDigest(row.revision)}</code>{' '}
          {row.status === 'pending' ? 'waits for a decision' : 'was rejected'};{' '}
          {row.serving === null ? 'nothing of it is served' : <code>{shortDigest(row.serving)}</code>}
          {row.serving !== null && ' stays live'}.
        </p>
      )}
      {grown.length > 0 && (
        <ul class="grown" aria-label="New capabilities">
          {grown.map(each => (
            <li key={each}>
              <span class="badge broken">new</span> {each}
            </li>
          ))}
        </ul>
      )}
      <p class="buttons">
        {VERBS[row.status].map(verb => (
          <button
            type="button"
            key={verb}
            class={verb === 'approve' ? '' : 'plain'}
            disabled={isRunning}
            onClick={() => decide(verb)}
          >
            {WORDS[verb]}
          </button>
        ))}
      </p>
      {failure !== undefined && <p role="alert">{failure}</p>}
    </section>
  )
}
