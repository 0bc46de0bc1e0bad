import { createRequire } from 'node:module'
import { basename } from 'node:path'
import launch from 'launch-editor'
import { fail } from './api-failure.ts'

/** Returns the command of the editor and its arguments; null if no editor is found. The package has no types for it. */
const guess = createRequire(import.meta.url)('launch-editor/guess.js') as () => readonly [string | null]

/** Editors that would take the terminal of the dev server. */
const NEEDS_TERMINAL = /^(?:n?vim?|vi|nano|emacs|hx|helix|kak|micro|pico|ed|joe)$/

/**
 * Opens a file in the editor that runs on this machine, or that VISUAL or EDITOR names. Returns the name of the editor.
 * Fails if there is none, or if it needs a terminal.
 */
export function openInEditor(path: string, line: number): string {
  const [command] = guess()
  const editor = basename(command ?? '')
  if (editor === '') fail(409, 'NOT_FOUND', `no editor runs and EDITOR is not set; open ${path} yourself`)
  if (NEEDS_TERMINAL.test(editor))
    fail(409, 'NOT_FOUND', `${editor} needs a terminal; run: ${editor} +${line} ${path}`)
  launch(`${path}:${line}`)
  return editor
}
