import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'

/** A text that is not saved yet, and the text on the disk that it replaces. */
interface Draft {
  readonly before: string
  readonly text: string
}

/** Drafts by skill. They stay while the person looks at other skills. */
export const drafts = signal<ReadonlyMap<string, Draft>>(new Map())

addEventListener('beforeunload', event => {
  if (drafts.value.size > 0) event.preventDefault()
})

export function keepDraft(target: string, draft: Draft | undefined): void {
  const next = new Map(drafts.value)
  if (draft === undefined) next.delete(target)
  else next.set(target, draft)
  drafts.value = next
}

/** Shows the drafts of skills that the page cannot edit now, so that they can be copied. */
export function LostDrafts({ isLost }: { readonly isLost: (target: string) => boolean }): ComponentChildren {
  return [...drafts.value]
    .filter(([target]) => isLost(target))
    .map(([target, { text }]) => (
      <label key={target} class="fields">
        Your unsaved text of {target}
        <textarea class="field" readOnly rows={16} value={text} />
      </label>
    ))
}
