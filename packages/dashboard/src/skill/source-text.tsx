import type { ComponentChildren } from 'preact'
import type { Finding } from 'skillstoke/client'
import { VisibleText } from '../parts/visible-text.tsx'

interface SourceTextProps {
  readonly text: string
  readonly findings: readonly Finding[]
  readonly renderFinding: (finding: Finding) => ComponentChildren
}

/** Renders a text with line numbers, and each finding below the line that it names. */
export function SourceText({ text, findings, renderFinding }: SourceTextProps): ComponentChildren {
  const lines = text.replace(/\r?\n$/, '').split(/\r\n|\n|\r/)
  const byLine = Map.groupBy(findings, ({ line = 1 }) => Math.min(line, lines.length))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text must be reachable by keyboard
    <section class="src" aria-label="Source" tabIndex={0}>
      {lines.map((line, index) => {
        const here = byLine.get(index + 1) ?? []
        const worst = here.some(({ severity }) => severity === 'error')
          ? 'bad'
          : here.length > 0
            ? 'hint'
            : ''
        return (
          <div key={index}>
            <div class={`ln ${worst}`}>
              <span>{index + 1}</span>
              <span>
                <VisibleText text={line} />
              </span>
            </div>
            {here.map((each, at) => (
              <div key={at}>{renderFinding(each)}</div>
            ))}
          </div>
        )
      })}
    </section>
  )
}
