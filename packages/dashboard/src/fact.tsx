import type { ComponentChildren } from 'preact'

interface FactProps {
  readonly label: string
  readonly children: ComponentChildren
}

/** Renders one line of a list of facts. */
export function Fact({ label, children }: FactProps): ComponentChildren {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  )
}
