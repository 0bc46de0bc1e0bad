import { isQuestionWanted } from './chats.ts'
import { go, route } from './route.ts'
import { openRow, selectNext } from './selection.ts'
import { detailTab, isHelpOpen, selectedRow } from './store.ts'

/** The single-key shortcuts, as the help of the page lists them. */
export const KEYS: readonly (readonly [key: string, meaning: string])[] = [
  ['/', 'filter the skills'],
  ['j', 'next skill'],
  ['k', 'previous skill'],
  ['Enter', 'open the skill'],
  ['d', 'difference of the skill: the refused, waiting or last change'],
  ['t', 'try the skill: ask a question'],
  ['Esc', 'back'],
  ['?', 'this help'],
]

/** Listens for single-key shortcuts, except while the user types. */
export function listenForKeys(): void {
  addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === 'Escape') return onEscape()
    if (isTyping(event.target)) return
    // If an element has the focus, leaves the Enter key to that element.
    if (event.key === 'Enter' && event.target !== document.body) return
    const action = ACTIONS[event.key]
    if (action === undefined) return
    event.preventDefault()
    action()
  })
}

const ACTIONS: Readonly<Record<string, () => void>> = {
  '/': () => {
    const field = document.getElementById('filter')
    if (field instanceof HTMLInputElement && field.checkVisibility()) {
      field.focus()
      return field.select()
    }
    go({ view: 'skills' })
    // Waits before focusing the filter field, because this field does not exist until the list is rendered.
    addEventListener('hashchange', () => setTimeout(() => document.getElementById('filter')?.focus()), {
      once: true,
    })
  },
  j: () => moveTo(1),
  k: () => moveTo(-1),
  Enter: () => {
    if (selectedRow.value !== undefined) openRow(selectedRow.value)
  },
  d: () => {
    if (selectedRow.value === undefined) return
    detailTab.value = 'difference'
    openRow(selectedRow.value)
  },
  t: () => {
    if (selectedRow.value === undefined) return
    detailTab.value = 'try'
    isQuestionWanted.value = true
    openRow(selectedRow.value)
  },
  '?': () => {
    isHelpOpen.value = !isHelpOpen.value
  },
}

function moveTo(step: 1 | -1): void {
  // Otherwise the Enter key goes to an element that was clicked before, for example a tab.
  const active = document.activeElement
  if (active instanceof HTMLElement && active.closest('[role=listbox]') === null) active.blur()
  selectNext(step)
}

function onEscape(): void {
  if (isHelpOpen.value) isHelpOpen.value = false
  else if (isTyping(document.activeElement)) document.activeElement.blur()
  else if (route.value.view === 'skills' && route.value.name !== undefined) go({ view: 'skills' })
}

function isTyping(target: EventTarget | null): target is HTMLInputElement | HTMLTextAreaElement {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement
}
