import { go, route } from './route.ts'
import { openRow, selectNext } from './selection.ts'
import { detailTab, isHelpOpen, selectedRow } from './store.ts'

/** What single keys do, for the help. */
export const KEYS: readonly (readonly [key: string, meaning: string])[] = [
  ['/', 'filter the skills'],
  ['j', 'next skill'],
  ['k', 'previous skill'],
  ['Enter', 'open the skill'],
  ['d', 'difference of the skill: what was refused, or what changed last'],
  ['Esc', 'back'],
  ['?', 'this help'],
]

/** Single keys work wherever nothing is being typed. */
export function listenForKeys(): void {
  addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === 'Escape') return onEscape()
    if (isTyping(event.target)) return
    // Whatever has the focus has its own use for Enter.
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
    // The field is there once the list is.
    addEventListener('hashchange', () => setTimeout(() => document.getElementById('filter')?.focus()), {
      once: true,
    })
  },
  j: () => selectNext(1),
  k: () => selectNext(-1),
  Enter: () => {
    if (selectedRow.value !== undefined) openRow(selectedRow.value)
  },
  d: () => {
    if (selectedRow.value === undefined) return
    detailTab.value = 'difference'
    openRow(selectedRow.value)
  },
  '?': () => {
    isHelpOpen.value = !isHelpOpen.value
  },
}

function onEscape(): void {
  if (isHelpOpen.value) isHelpOpen.value = false
  else if (document.activeElement instanceof HTMLInputElement) document.activeElement.blur()
  else if (route.value.view === 'skills' && route.value.name !== undefined) go({ view: 'skills' })
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement
}
