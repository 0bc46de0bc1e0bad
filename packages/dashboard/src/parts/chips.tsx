import type { ComponentChildren } from 'preact'
import { filterBy } from '../route.ts'

interface ChipsProps {
  /** The value of `show` in the address, the words, and how many there are. The first one shows all. */
  readonly chips: readonly (readonly [show: string, words: string, count: number])[]
  readonly chosen: string
}

/** Buttons that filter a list, of which one is chosen. */
export function Chips({ chips, chosen }: ChipsProps): ComponentChildren {
  return chips.map(([show, words, count]) => (
    <button
      key={show}
      type="button"
      class="chip"
      aria-pressed={show === chosen}
      onClick={() => filterBy({ show })}
    >
      {words} <span class="n">{count}</span>
    </button>
  ))
}
