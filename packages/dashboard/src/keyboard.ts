import { areKeysOn } from './keys-dialog.tsx'
import { isBusy, openDialog, undoLast } from './parts/overlay.tsx'
import { go, route, SKILL_TABS, type SkillTab, type ViewName } from './route.ts'
import { connection } from './store.ts'
import { openNext } from './views/visible-rows.ts'

/** What the keys do in the shown view. Each view replaces them while it is shown. */
const bound = new Map<string, () => void>()

/** Binds keys until the returned function is called. */
export function bindKeys(keys: Readonly<Record<string, () => void>>): () => void {
  for (const [key, action] of Object.entries(keys)) bound.set(key, action)
  return () => {
    for (const [key, action] of Object.entries(keys)) if (bound.get(key) === action) bound.delete(key)
  }
}

/** The second key after `g`. */
const VIEWS: Readonly<Record<string, ViewName>> = {
  o: 'overview',
  s: 'skills',
  a: 'agents',
  c: 'changes',
  f: 'fleet',
}
const SEQUENCE_MS = 1_000
let gAt = -Infinity

/** Listens for single keys, except while the person types or answers a question. */
export function listenForKeys(): void {
  addEventListener('keydown', event => {
    if (event.key === 'Escape') return onEscape()
    if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return
    const isShortcut = event.ctrlKey || event.metaKey
    const key = `${isShortcut ? 'mod+' : ''}${event.key}`
    // A held key moves, and does nothing else.
    if (isBusy.value || (event.repeat && !/^[jk]$/.test(event.key))) return
    if (event.altKey || (!isShortcut && !areKeysOn.value)) return
    const action = findAction(key)
    if (action === undefined) return
    event.preventDefault()
    action()
  })
}

function findAction(key: string): (() => void) | undefined {
  const isAfterG = performance.now() - gAt < SEQUENCE_MS
  gAt = -Infinity
  const view = isAfterG ? VIEWS[key] : undefined
  if (view !== undefined) return () => go({ view })
  return bound.get(key) ?? ACTIONS[key]
}

const ACTIONS: Readonly<Record<string, () => void>> = {
  '/': () => (openDialog.value = 'find'),
  '?': () => (openDialog.value = 'keys'),
  g: () => (gAt = performance.now()),
  c: () => (openDialog.value = connection.value === 'live' ? 'new-skill' : undefined),
  j: () => openNext(1),
  k: () => openNext(-1),
  t: () => openTab('tests'),
  d: () => openTab('changes'),
  'mod+z': undoLast,
  ...Object.fromEntries(SKILL_TABS.map((tab, index) => [String(index + 1), () => openTab(tab)])),
}

function openTab(tab: SkillTab): void {
  if (route.value.view === 'skills' && route.value.chosen !== undefined) go({ ...route.value, tab })
}

/** An open dialog closes itself. */
function onEscape(): void {
  if (document.querySelector('dialog[open]') !== null) return
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  const isField = target.matches('input:not([type=checkbox]), textarea, select')
  return isField || target.isContentEditable || target.shadowRoot !== null
}
