import type { ComponentChildren } from 'preact'
import type { ApiClient, SkillDiff } from 'skillstoke/client'
import { DifferenceText } from './difference-text.tsx'
import { useLoaded } from './use-loaded.ts'

interface DifferenceViewProps {
  readonly name: string
  /** Any text that is different after each change of the skill. A new text makes the view load again. */
  readonly version: string
  readonly client: ApiClient
}

const TITLES: Readonly<Record<SkillDiff['kind'], string>> = {
  refused: 'Difference between the live text and the refused text',
  waiting: 'Difference between the live revision and the waiting revision',
  changed: 'The last change since the dev server started',
  none: 'Nothing has changed since the dev server started.',
}

/**
 * Renders the refused or waiting change of a skill. If no change was refused or waits for approval, renders the last
 * change.
 */
export function DifferenceView({ name, version, client }: DifferenceViewProps): ComponentChildren {
  const diff = useLoaded(() => client.diff(name), [name, version])
  if (diff === undefined) return <p class="empty">Loading …</p>
  if ('failure' in diff) return <p role="alert">{diff.failure}</p>
  const { kind, text } = diff.value
  return (
    <>
      <p class="note">{TITLES[kind]}</p>
      {text !== '' && <DifferenceText text={text} />}
    </>
  )
}
