import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { KEYS } from './keyboard.ts'
import { isHelpOpen } from './store.ts'

export function Help(): ComponentChildren {
  const dialog = useRef<HTMLDialogElement>(null)
  const isOpen = isHelpOpen.value
  useEffect(() => {
    if (isOpen) dialog.current?.showModal()
    else dialog.current?.close()
  }, [isOpen])
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={() => (isHelpOpen.value = false)}>
      <h2 id="help-title">Keys</h2>
      <dl>
        {KEYS.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => (isHelpOpen.value = false)}>
        Close
      </button>
    </dialog>
  )
}
