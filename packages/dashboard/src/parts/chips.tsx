import type { ComponentChildren } from 'preact'
import { chosenIn, filterBy } from '../route.ts'

/** The ways to limit a list, by the value of `show` in the address. The first one keeps all. */
export type Filters<T> = Readonly<Record<string, readonly [words: string, keeps: (item: T) => boolean]>>

interface ChipsProps<T> {
  readonly filters: Filters<T>
  readonly items: readonly T[]
}

/** Buttons that filter a list, of which one is chosen. Each says how many items it keeps. */
export function Chips<T>({ filters, items }: ChipsProps<T>): ComponentChildren {
  const [chosen] = chosenIn(filters, 'show')
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot wrap its chips
    <div class="chips" role="group" aria-label="Show">
      {Object.entries(filters).map(([show, [words, keeps]]) => (
        <button
          key={show}
          type="button"
          class="chip"
          aria-pressed={show === chosen}
          onClick={() => filterBy({ show })}
        >
          {words} <span class="n">{items.filter(keeps).length}</span>
        </button>
      ))}
    </div>
  )
}
