import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { lostAt } from '../store.ts'

/** The present, often enough for "20 s ago". */
const now = signal(Date.now())
setInterval(() => (now.value = Date.now()), 5_000)

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Says how long ago a moment was. Without a server, the page stands still, so the moment itself is shown. */
function formatAgo(at: Date): string {
  const age = Math.max(now.value, Date.now()) - at.getTime()
  if (lostAt.value !== undefined || age >= HOUR) return formatMoment(at)
  if (age < 10_000) return 'just now'
  return age < MINUTE ? `${Math.floor(age / 10_000) * 10} s ago` : `${Math.floor(age / MINUTE)} min ago`
}

/** A date, ISO text, or milliseconds since the epoch. */
type Moment = Date | string | number

/** `12:04` today, `yesterday 12:04`, `Monday 12:04` in this week, or `19 Nov`. */
export function formatMoment(moment: Moment): string {
  const at = new Date(moment)
  const today = new Date(now.value).setHours(0, 0, 0, 0)
  const time = at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
  if (at.getTime() >= today) return time
  if (at.getTime() >= today - DAY) return `yesterday ${time}`
  if (at.getTime() >= today - 6 * DAY) return `${at.toLocaleDateString('en-GB', { weekday: 'long' })} ${time}`
  return at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
}

export function Ago({ at }: { readonly at: Moment }): ComponentChildren {
  const date = new Date(at)
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString('en-GB')}>
      {formatAgo(date)}
    </time>
  )
}
