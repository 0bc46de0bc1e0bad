import type { ComponentChildren } from 'preact'

interface FactProps {
  readonly label: string
  readonly children: ComponentChildren
}

/** Renders a label and its value. */
export function Fact({ label, children }: FactProps): ComponentChildren {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  )
}
