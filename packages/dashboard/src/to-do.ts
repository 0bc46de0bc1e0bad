import { computed } from '@preact/signals'
import type { AttentionInfo, FailingTests, SkillRow, SourceState } from 'skillstoke/client'
import { attention, rows, status } from './store.ts'

/** Something that needs a person. */
export type ToDo =
  | { readonly kind: 'broken' | 'waiting' | 'hidden-text'; readonly row: SkillRow }
  | { readonly kind: 'source'; readonly source: SourceState; readonly reason: string }
  | { readonly kind: 'failing'; readonly tests: FailingTests }
  | { readonly kind: 'collision'; readonly collision: AttentionInfo['collisions'][number] }
  | { readonly kind: 'warnings'; readonly rows: readonly SkillRow[] }

/** Names an item. A changed state of the same item keeps the name, and so the focus. */
export function keyOf(item: ToDo): string {
  if ('row' in item) return `${item.kind} ${item.row.target}`
  if (item.kind === 'source') return `source ${item.source.label}`
  if (item.kind === 'failing') return `failing ${item.tests.skill}`
  return item.kind === 'warnings' ? 'warnings' : item.collision.skills.map(({ name }) => name).join(' ')
}

/** What needs a person, the most urgent first. */
export const toDo = computed<readonly ToDo[]>(() => {
  const of = (state: SkillRow['status']): readonly SkillRow[] =>
    rows.value.filter(each => each.status === state)
  const hasHidden = ({ diagnostics }: SkillRow): boolean =>
    diagnostics.some(({ code }) => code === 'HIDDEN_TEXT')
  const live = [...of('ok'), ...of('warning')]
  const warned = of('warning').filter(row => !hasHidden(row))
  return [
    ...of('broken').map(row => ({ kind: 'broken', row }) as const),
    ...(status.value?.sources ?? []).flatMap(toSourceFault),
    ...of('pending').map(row => ({ kind: 'waiting', row }) as const),
    ...live.filter(hasHidden).map(row => ({ kind: 'hidden-text', row }) as const),
    ...attention.value.failing.map(tests => ({ kind: 'failing', tests }) as const),
    ...attention.value.collisions.map(collision => ({ kind: 'collision', collision }) as const),
    ...(warned.length === 0 ? [] : [{ kind: 'warnings', rows: warned } as const]),
  ]
})

function toSourceFault(source: SourceState): readonly ToDo[] {
  const reason = source.failures > 0 ? source.lastError : undefined
  return reason === undefined ? [] : [{ kind: 'source', source, reason }]
}
