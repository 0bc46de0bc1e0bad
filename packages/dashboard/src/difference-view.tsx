import type { ComponentChildren } from 'preact'
import type { SkillDiff } from 'skillstoke/client'
import { Answer } from './answer.tsx'
import { client } from './client.ts'
import { DifferenceText } from './difference-text.tsx'
import { useLoaded } from './use-loaded.ts'

interface DifferenceViewProps {
  readonly name: string
  /** Any text that is different after each change of the skill. A new text makes the view load again. */
  readonly version: string
}

const TITLES: Readonly<Record<SkillDiff['kind'], string>> = {
  refused: 'Difference between the live text and the refused text',
  waiting: 'Difference between the live revision and the waiting revision',
  changed: 'The last change',
}

/**
 * Renders the refused or waiting change of a skill. If no change was refused or waits for approval, renders the last
 * change.
 */
export function DifferenceView({ name, version }: DifferenceViewProps): ComponentChildren {
  const diff = useLoaded(() => client.diff(name), [name, version])
  return (
    <Answer of={diff}>
      {({ kind, from, text }) =>
        kind === 'changed' && from === undefined ? (
          <p class="note">Nothing has changed since the dev server started.</p>
        ) : (
          <>
            <p class="note">{TITLES[kind]}</p>
            {text !== '' && <DifferenceText text={text} />}
          </>
        )
      }
    </Answer>
  )
}
