import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { Folded } from '../parts/card.tsx'
import { LoadedDifference } from '../parts/difference.tsx'
import { plural } from '../parts/format.ts'
import { findRow } from '../store.ts'
import { type ChangeItem, changeItems } from './change-items.ts'
import { ChangeLine } from './change-line.tsx'

/** Each line asks the server for its difference. */
const PAGE = 50

/** Every change since the server started. A line opens its difference. */
export function ChangesView(): ComponentChildren {
  const count = changeItems.value.length
  const most = useSignal(PAGE)
  return (
    <main class="page" id="main" tabIndex={-1}>
      <h1>{count === 0 ? 'Nothing has changed' : plural(count, 'change')}</h1>
      <p class="lead">
        Since the server started, newest first. The tab Changes of a skill has its whole history.
      </p>
      <ul class="card log">
        {changeItems.value.slice(0, most.value).map(item => (
          <ChangeLine key={item.key} item={item}>
            <Opened item={item} />
          </ChangeLine>
        ))}
      </ul>
      {count > most.value && (
        <button type="button" class="btn" onClick={() => (most.value += PAGE)}>
          Show older changes
        </button>
      )}
    </main>
  )
}

function Opened({ item: { what } }: { readonly item: ChangeItem }): ComponentChildren {
  if (what.kind !== 'change' || what.change.from === null || what.change.to === null) return null
  const { name, from, to } = what.change
  return (
    <div class="more">
      <Folded title="Difference">
        {() => <LoadedDifference target={findRow(name)?.target ?? name} from={from} to={to} />}
      </Folded>
    </div>
  )
}
