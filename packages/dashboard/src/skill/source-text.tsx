import type { ComponentChildren } from 'preact'
import type { Finding } from 'skillstoke/client'
import { ChangeButton } from '../parts/change-button.tsx'
import { Shape } from '../parts/icons.tsx'
import { VisibleText } from '../parts/visible-text.tsx'

interface SourceTextProps {
  readonly text: string
  readonly findings: readonly Finding[]
  /** Absent if the text cannot be edited. */
  readonly onFix?: ((finding: Finding) => void) | undefined
}

/** Renders a text with line numbers, and each finding below the line that it names. */
export function SourceText({ text, findings, onFix }: SourceTextProps): ComponentChildren {
  const lines = text.replace(/\r?\n$/, '').split(/\r\n|\n|\r/)
  const byLine = Map.groupBy(findings, ({ line = 1 }) => Math.min(line, lines.length))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text must be reachable by keyboard
    <section class="src" aria-label="Source" tabIndex={0}>
      {lines.map((line, index) => {
        const here = byLine.get(index + 1) ?? []
        const isBad = here.some(({ severity }) => severity === 'error')
        const look = isBad ? 'bad' : 'hint'
        return (
          <div key={index}>
            <div class={here.length === 0 ? 'ln' : `ln ${look}`}>
              <span>{index + 1}</span>
              <span>
                <VisibleText text={line} />
              </span>
            </div>
            {here.map((each, at) => (
              <div key={at}>
                <FindingText finding={each} onFix={onFix && (() => onFix(each))} />
              </div>
            ))}
          </div>
        )
      })}
    </section>
  )
}

const SHAPES = { error: 'broken', warning: 'warn', info: 'info' } as const

interface FindingTextProps {
  readonly finding: Finding
  readonly place?: string | undefined
  readonly onFix?: (() => void) | undefined
}

/** Renders a finding, with a button if its edit can be applied. */
export function FindingText({ finding, place, onFix }: FindingTextProps): ComponentChildren {
  const { severity, message, fix, page, code, edit } = finding
  return (
    <div class={`finding f-${severity}`} role="note">
      <Shape name={SHAPES[severity]} />
      <p>
        {place !== undefined && <b>{place} </b>}
        {message}.{fix !== undefined && ` To mend it, ${fix}.`}{' '}
        <a href={page} target="_blank" rel="noopener noreferrer" title={code}>
          Why
        </a>
      </p>
      {edit && onFix && (
        <ChangeButton title={edit.title} onClick={onFix}>
          Fix
        </ChangeButton>
      )}
    </div>
  )
}
