import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { connection } from '../store.ts'
import { ChangeButton } from './change-button.tsx'
import { act, closeDialog, Modal, question } from './overlay.tsx'

/** The reasons that were given, by question. They stay, because the server may refuse the answer. */
const reasons = new Map<string, string>()

/** Renders the question of the page, if there is one. */
export function QuestionDialog(): ComponentChildren {
  const asked = question.value
  const field = useRef<HTMLTextAreaElement>(null)
  if (asked === undefined) return null
  const { title, text, preview, reason, confirm, isDangerous, run } = asked
  const answer = (): void => {
    if (connection.value !== 'live') return
    const given = field.current?.value.trim() ?? ''
    if (reason !== undefined) reasons.set(title, given)
    closeDialog()
    if (run !== undefined) act(() => run(given))
  }
  return (
    <Modal title={title}>
      <h2>{title}</h2>
      {text !== undefined && <p class="m">{text}</p>}
      {preview !== undefined && <div class="preview">{preview}</div>}
      {reason !== undefined && (
        <label class="s">
          {reason}
          <textarea
            ref={field}
            class="field"
            rows={3}
            defaultValue={reasons.get(title)}
            onKeyDown={event => {
              if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) answer()
            }}
          />
        </label>
      )}
      <footer>
        <button type="button" class="btn" onClick={closeDialog}>
          {run === undefined ? 'Close' : 'Cancel'}
        </button>
        {run !== undefined && (
          <ChangeButton class={`btn ${isDangerous ? 'danger' : 'primary'}`} onClick={answer}>
            {confirm}
          </ChangeButton>
        )}
      </footer>
    </Modal>
  )
}
