import type { Diagnostic } from '@skillstoke/core'
import type { ComponentChildren } from 'preact'

interface SourceTextProps {
  readonly text: string
  readonly findings: readonly Diagnostic<string>[]
}

/** Renders a text with line numbers, and each diagnostic below the line that it names. */
export function SourceText({ text, findings }: SourceTextProps): ComponentChildren {
  const byLine = Map.groupBy(
    findings.filter(finding => finding.line !== undefined),
    finding => finding.line,
  )
  return (
    <ol class="source">
      {text.split(/\r\n|\n|\r/).map((line, index) => {
        const here = byLine.get(index + 1) ?? []
        return (
          <li key={index} class={here[0]?.severity ?? ''}>
            <code>{line === '' ? ' ' : line}</code>
            {here.map(({ code, severity, message, fix }) => (
              <p key={`${code} ${message}`} class={severity}>
                {message}
                {fix !== undefined && `; fix: ${fix}`}
              </p>
            ))}
          </li>
        )
      })}
    </ol>
  )
}
