import type { ComponentChildren } from 'preact'
import { formatTime } from './format.ts'

/** Renders a date with its time of day. @param at milliseconds since the epoch */
export function Moment({ at }: { readonly at: number }): ComponentChildren {
  const iso = new Date(at).toISOString()
  return (
    <time dateTime={iso}>
      {new Date(at).toLocaleDateString('en-GB')} {formatTime(iso)}
    </time>
  )
}
