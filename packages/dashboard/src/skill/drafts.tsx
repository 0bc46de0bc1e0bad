import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'

/** The text in an open editor, and the text on the disk that it replaces. */
export interface Draft {
  readonly before: string
  readonly text: string
}

/** Drafts by skill. They stay while the person looks at other skills. */
export const drafts = signal<ReadonlyMap<string, Draft>>(new Map())

addEventListener('beforeunload', event => {
  if ([...drafts.value.values()].some(isChanged)) event.preventDefault()
})

export function isChanged({ before, text }: Draft): boolean {
  return text !== before
}

/** Changes a draft. Both texts begin one. */
export function editDraft(target: string, change: Partial<Draft>): void {
  const draft = { before: '', text: '', ...drafts.value.get(target), ...change }
  drafts.value = new Map(drafts.value).set(target, draft)
}

export function dropDraft(target: string): void {
  drafts.value = new Map([...drafts.value].filter(([each]) => each !== target))
}

/** Shows the drafts of skills that the page cannot edit now, so that they can be copied. */
export function LostDrafts({ isLost }: { readonly isLost: (target: string) => boolean }): ComponentChildren {
  return [...drafts.value]
    .filter(([target, draft]) => isChanged(draft) && isLost(target))
    .map(([target, { text }]) => (
      <label key={target} class="fields">
        Your unsaved text of {target}
        <textarea class="field" readOnly rows={16} value={text} />
      </label>
    ))
}
