import type { ComponentChildren } from 'preact'
import type { Loaded } from './use-loaded.ts'

interface AnswerProps<T> {
  readonly of: Loaded<T>
  readonly children: (value: T) => ComponentChildren
}

/** Renders the value of a request. Until it arrives, says that it is loading; if it fails, says why. */
export function Answer<T>({ of: loaded, children }: AnswerProps<T>): ComponentChildren {
  if (loaded === undefined) return <p class="empty">Loading …</p>
  return 'failure' in loaded ? <p role="alert">{loaded.failure}</p> : children(loaded.value)
}
