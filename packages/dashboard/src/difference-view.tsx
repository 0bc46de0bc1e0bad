import type { ComponentChildren } from 'preact'
import type { ApiClient, SkillDiff } from 'skillstoke/client'
import { DifferenceText } from './difference-text.tsx'
import { useLoaded } from './use-loaded.ts'

interface DifferenceViewProps {
  readonly name: string
  /** Changes whenever the skill does. */
  readonly version: string
  readonly client: ApiClient
}

const TITLES: Readonly<Record<SkillDiff['kind'], string>> = {
  refused: 'From what is live to what was refused',
  waiting: 'From what is live to what is not',
  changed: 'The last change since the dev server started',
  none: 'Nothing has changed since the dev server started.',
}

/** What was refused of a skill, or what its last change made of it. */
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
