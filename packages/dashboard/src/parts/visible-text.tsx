import { showHiddenText } from '@skillstoke/core'
import type { ComponentChildren } from 'preact'

/** Renders a text with its invisible characters as chips such as `<U+200B>`. */
export function VisibleText({ text }: { readonly text: string }): ComponentChildren {
  const shown = showHiddenText(text)
  if (shown === text) return text
  return shown.split(/(<U\+[0-9A-F]+>)/).map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      <span key={index} class="inv">
        {part}
      </span>
    ),
  )
}
