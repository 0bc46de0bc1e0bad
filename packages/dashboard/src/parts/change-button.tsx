import type { ButtonHTMLAttributes, ComponentChildren } from 'preact'
import { connection } from '../store.ts'
import { isBusy } from './overlay.tsx'

interface ChangeButtonProps extends Pick<ButtonHTMLAttributes, 'title' | 'type' | 'onClick' | 'children'> {
  readonly class?: string
  readonly disabled?: boolean
  readonly label?: string
}

/** A button that changes something. Without a server, and while another change is sent, it waits. */
export function ChangeButton(props: ChangeButtonProps): ComponentChildren {
  const { class: look = 'btn sm', label, disabled = false, ...rest } = props
  const waits = disabled || isBusy.value || connection.value !== 'live'
  return <button type="button" {...rest} class={look} disabled={waits} aria-label={label} />
}
