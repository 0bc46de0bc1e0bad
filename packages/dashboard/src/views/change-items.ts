import { computed } from '@preact/signals'
import type { SessionInfo, TimelineChange, TimelineEntry, TimelineProblem } from 'skillstoke/client'
import { plural } from '../parts/format.ts'
import { sessions, timeline } from '../store.ts'

/** One line of the changes. */
export interface ChangeItem {
  readonly key: string
  readonly entry: TimelineEntry
  readonly what:
    | { readonly kind: 'change'; readonly change: TimelineChange }
    | { readonly kind: 'problem'; readonly problem: TimelineProblem }
    | { readonly kind: 'fixed'; readonly name: string }
    | { readonly kind: 'many'; readonly names: readonly string[]; readonly count: number }
}

const SHOWN: ReadonlySet<TimelineProblem['status']> = new Set(['broken', 'pending', 'rejected'])

/** More changes at once, for example by a checkout, are one line. */
const MAX_LINES = 5

/** The changes since the server started, newest first. */
export const changeItems = computed<readonly ChangeItem[]>(() => timeline.value.flatMap(toItems))

function toItems(entry: TimelineEntry): readonly ChangeItem[] {
  const { changes, fixed, omitted, generation } = entry
  const problems = entry.problems.filter(({ status }) => SHOWN.has(status))
  const names = [...changes, ...problems].map(({ name }) => name)
  const all: ChangeItem['what'][] = [
    ...problems.map(problem => ({ kind: 'problem', problem }) as const),
    ...changes.map(change => ({ kind: 'change', change }) as const),
    ...fixed.filter(name => !names.includes(name)).map(name => ({ kind: 'fixed', name }) as const),
  ]
  const many = { kind: 'many', names, count: names.length + omitted } as const
  const shown = names.length > MAX_LINES ? [many] : all
  return shown.map((what, index) => ({ key: `${generation.number} ${index}`, entry, what }))
}

/** Says which conversations have heard of a change. */
export function describeReach({ generation }: TimelineEntry, name: string): string {
  const all = sessions.value
  const isWaiting = (each: SessionInfo): boolean =>
    each.pending?.about.includes(name) === true && each.generation.number < generation.number
  const waiting = all.filter(isWaiting).length
  if (all.length === 0) return ''
  if (waiting === 0) return `${plural(all.length, 'conversation')} up to date.`
  return `${plural(waiting, 'conversation hears', 'conversations hear')} of it at the next step.`
}
