import type { ComponentChildren } from 'preact'

/** Renders a unified diff with added and removed lines in color. */
export function DifferenceText({ text }: { readonly text: string }): ComponentChildren {
  return (
    <pre class="diff">
      {text.split('\n').map((line, index) => (
        <span key={index} class={classOf(line)}>
          {`${line}\n`}
        </span>
      ))}
    </pre>
  )
}

function classOf(line: string): string {
  if (/^(\+\+\+|---|===)/.test(line)) return 'head'
  if (line.startsWith('+')) return 'plus'
  if (line.startsWith('-')) return 'minus'
  return line.startsWith('@@') ? 'head' : ''
}
