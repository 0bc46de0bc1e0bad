import type { ComponentChildren } from 'preact'
import { connection } from '../store.ts'
import { isBusy } from './overlay.tsx'

interface ChangeButtonProps {
  readonly class?: string
  readonly title?: string
  readonly disabled?: boolean
  readonly label?: string
  readonly onClick?: () => void
  readonly type?: 'button' | 'submit'
  readonly children: ComponentChildren
}

/** A button that changes something. Without a server, and while another change is sent, it waits. */
export function ChangeButton({
  class: look = 'btn sm',
  label,
  disabled = false,
  type = 'button',
  children,
  ...rest
}: ChangeButtonProps): ComponentChildren {
  const waits = disabled || isBusy.value || connection.value !== 'live'
  return (
    <button {...rest} type={type} class={look} disabled={waits} aria-label={label}>
      {children}
    </button>
  )
}
