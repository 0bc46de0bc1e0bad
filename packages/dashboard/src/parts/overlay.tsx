import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { connection } from '../store.ts'
import { describeFailure } from './describe-failure.ts'

/** A question with a preview, before something happens that many agents feel. */
export interface Question {
  readonly title: string
  readonly text?: ComponentChildren
  /** Shows what will change. */
  readonly preview?: ComponentChildren
  /** Label of a field for a reason. */
  readonly reason?: string
  readonly confirm?: string
  readonly isDangerous?: boolean
  /** Does it. Absent if there is only something to look at. */
  readonly run?: (reason: string) => Promise<Toast | undefined>
}

/** Says what has happened, and how to take it back. */
export interface Toast {
  readonly text: string
  readonly undo?: () => Promise<unknown>
  readonly isFailure?: boolean
}

export const question = signal<Question | undefined>(undefined)
/** The dialog that is open, other than a question. */
export const openDialog = signal<'find' | 'keys' | 'new-skill' | undefined>(undefined)

/** Closes the dialog or the question that is open. */
export function closeDialog(): void {
  // If an open dialog is only removed, the focus is lost.
  document.querySelector('dialog')?.close()
  openDialog.value = undefined
  question.value = undefined
}

const toast = signal<Toast | undefined>(undefined)
/** True while a change is sent. */
export const isBusy = signal(false)

const UNDO_MS = 10_000
const FAILURE_MS = 30_000
let timer: ReturnType<typeof setTimeout> | undefined

export function show(shown: Toast | undefined): void {
  clearTimeout(timer)
  toast.value = shown
  if (shown !== undefined)
    timer = setTimeout(() => (toast.value = undefined), shown.isFailure === true ? FAILURE_MS : UNDO_MS)
}

/**
 * Does something that changes the server, and says how it ended.
 * @param again what may be tried again after a failure
 */
export function act(work: () => Promise<Toast | undefined>, again?: Pick<Toast, 'undo'>): void {
  if (isBusy.value) return
  if (connection.value !== 'live') {
    show({ text: 'the dev server is stopped', isFailure: true, ...again })
    return
  }
  isBusy.value = true
  show(undefined)
  work()
    .then(show, (thrown: unknown) => show({ text: describeFailure(thrown), isFailure: true, ...again }))
    .finally(() => (isBusy.value = false))
}

/** Takes back what the toast says. */
export function undoLast(): void {
  const undo = toast.value?.undo
  if (undo === undefined) return
  act(
    async () => {
      await undo()
      return { text: 'Undone.' }
    },
    { undo },
  )
}

export function ToastView(): ComponentChildren {
  const { value } = toast
  return (
    <div class={value === undefined ? 'toast empty' : 'toast'} role="status">
      {value !== undefined && (
        <>
          <span role={value.isFailure ? 'alert' : undefined}>{value.text}</span>
          {value.undo !== undefined && (
            <button type="button" class="btn sm" onClick={undoLast}>
              Undo
            </button>
          )}
          <button type="button" class="btn sm bare" aria-label="Close" onClick={() => show(undefined)}>
            ✕
          </button>
        </>
      )}
    </div>
  )
}

interface ModalProps {
  readonly title: string
  readonly children: ComponentChildren
}

/** Renders a dialog over the page. Escape closes it, and the focus returns to where it was. */
export function Modal({ title, children }: ModalProps): ComponentChildren {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    dialog?.querySelector<HTMLElement>('input, textarea, footer button')?.focus()
    dialog?.scrollTo(0, 0)
  }, [])
  return (
    // The event comes later, when this dialog may have made room for another one.
    <dialog ref={element} aria-label={title} onClose={() => element.current?.isConnected && closeDialog()}>
      {children}
    </dialog>
  )
}
