import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface CardProps {
  readonly title: ComponentChildren
  /** What stands at the right of the title. */
  readonly side?: ComponentChildren
  readonly look?: string
  readonly children?: ComponentChildren
}

/** A part of a view with a title. */
export function Card({ title, side, look = '', children }: CardProps): ComponentChildren {
  const id = useId()
  return (
    <section class={`card ${look}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {side}
      </header>
      {children}
    </section>
  )
}

interface TableProps {
  readonly label: string
  readonly look: string
  /** The titles of the columns. A column of buttons has none. */
  readonly columns: readonly ComponentChildren[]
  readonly children: ComponentChildren
}

/** A table that scrolls in a narrow window. The keyboard reaches it. */
export function Table({ label, look, columns, children }: TableProps): ComponentChildren {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling table must be reachable by keyboard
    <section class="scroll" aria-label={label} tabIndex={0}>
      <table class={look} aria-label={label}>
        <thead>
          <tr>
            {columns.map((each, index) =>
              each === undefined ? (
                <td key={index} />
              ) : (
                <th key={index} scope="col">
                  {each}
                </th>
              ),
            )}
          </tr>
        </thead>
        {children}
      </table>
    </section>
  )
}

interface RowGroupProps {
  readonly title: ComponentChildren
  /** Number of columns. */
  readonly width: number
  readonly children: ComponentChildren
}

/** Rows of a table below a title. */
export function RowGroup({ title, width, children }: RowGroupProps): ComponentChildren {
  return (
    <tbody>
      <tr>
        <th class="grp" colSpan={width} scope="rowgroup">
          {title}
        </th>
      </tr>
      {children}
    </tbody>
  )
}

interface FoldedProps {
  readonly title: ComponentChildren
  readonly isOpen?: boolean
  readonly children: () => ComponentChildren
}

/** Details that are rendered once somebody opens them. */
export function Folded({ title, isOpen = false, children }: FoldedProps): ComponentChildren {
  const wasOpened = useSignal(isOpen)
  return (
    <details open={isOpen} onToggle={event => (wasOpened.value ||= event.currentTarget.open)}>
      <summary>{title}</summary>
      {wasOpened.value && children()}
    </details>
  )
}
