import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { DecisionVerb, SkillDiff, SkillRow } from 'skillstoke/client'
import { client } from './client.ts'
import { DifferenceText } from './difference-text.tsx'
import { shortDigest } from './format.ts'
import { useAction } from './use-action.ts'
import { useLoaded } from './use-loaded.ts'

interface ReviewPanelProps {
  readonly row: SkillRow
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

/**
 * Renders the buttons for decisions about a folder. If a revision waits for approval, shows its complete diff. The
 * approve button approves exactly the shown revision.
 */
export function ReviewPanel({ row }: ReviewPanelProps): ComponentChildren {
  const { isRunning, failure, code, run } = useAction()
  const isHiddenSeen = useSignal(false)
  const isWaiting = row.revision !== null && (row.status === 'pending' || row.status === 'rejected')
  const diff = useLoaded(isWaiting ? () => client.diff(row.target) : undefined, [
    row.target,
    row.revision,
    row.status,
  ])
  const shown =
    diff !== undefined && 'value' in diff && diff.value.to === row.revision ? diff.value : undefined
  // The server checks large files only at the approval. If the server finds hidden text, the server refuses
  // the approval with this code.
  const hasHidden = code === 'HIDDEN_TEXT' || row.diagnostics.some(each => each.code === 'HIDDEN_TEXT')
  const isReadyToApprove = shown !== undefined && (!hasHidden || isHiddenSeen.value)
  const decide = (verb: DecisionVerb): void => {
    // Sends the shown revision, so that the server refuses the decision if a newer revision exists.
    const revision = isWaiting ? row.revision : verb === 'pin' ? row.serving : null
    const looked = revision === null ? {} : { revision }
    const confirmed = verb === 'approve' && isHiddenSeen.value ? { confirmHidden: true } : {}
    run(() => client.decide({ verb, skill: row.target, ...looked, ...confirmed }))
  }
  return (
    <section class="review" aria-label="Decisions">
      {isWaiting && <Waiting row={row} diff={shown} />}
      {diff !== undefined && 'failure' in diff && <p role="alert">{diff.failure}</p>}
      {isWaiting && hasHidden && (
        <p class="field">
          <label>
            <input
              type="checkbox"
              checked={isHiddenSeen.value}
              onChange={event => (isHiddenSeen.value = event.currentTarget.checked)}
            />{' '}
            I have checked the invisible characters and bytes, written as <code>{'<U+200B>'}</code> and{' '}
            <code>{'<0xFF>'}</code> above, and they are intended.
          </label>
        </p>
      )}
      <p class="buttons">
        {VERBS[row.status].map(verb => (
          <button
            type="button"
            key={verb}
            class={verb === 'approve' ? '' : 'plain'}
            disabled={isRunning || (verb === 'approve' && !isReadyToApprove)}
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

interface WaitingProps {
  readonly row: SkillRow
  /** Diff of the shown revision. Absent while it loads. */
  readonly diff: SkillDiff | undefined
}

function Waiting({ row, diff }: WaitingProps): ComponentChildren {
  return (
    <>
      <p>
        Revision <code title={row.revision ?? ''}>{shortDigest(row.revision ?? '')}</code>{' '}
        {row.status === 'pending' ? 'waits for a decision' : 'was rejected'};{' '}
        {row.serving === null ? 'no revision is served' : <code>{shortDigest(row.serving)}</code>}
        {row.serving !== null && ' stays live'}.
      </p>
      {diff !== undefined && diff.newCapabilities.length > 0 && (
        <ul class="grown" aria-label="New capabilities">
          {diff.newCapabilities.map(each => (
            <li key={each}>
              <span class="badge broken">new</span> {each}
            </li>
          ))}
        </ul>
      )}
      {diff === undefined ? (
        <p class="empty">Loading what would go live …</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling section must be reachable by keyboard
        <section class="waiting" aria-label="What would go live" tabIndex={0}>
          <DifferenceText text={diff.text} />
        </section>
      )}
    </>
  )
}
