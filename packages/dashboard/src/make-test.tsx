import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { client } from './client.ts'
import { useAction } from './use-action.ts'

interface MakeTestProps {
  /** The skill beside the conversation. */
  readonly name: string
  readonly message: string
}

/** Offers to write a message into the tests of a skill. */
export function MakeTest({ name, message }: MakeTestProps): ComponentChildren {
  const path = useSignal<string | undefined>(undefined)
  const { run, failure, isRunning } = useAction()
  const write = (kind: 'fires' | 'silent') => (): void =>
    run(async () => {
      path.value = (await client.addTest({ skill: name, kind, message })).path
    })
  if (path.value !== undefined) return <p class="note">Written to {path.value}.</p>
  return (
    <p class="note">
      Make this a test:{' '}
      <button type="button" disabled={isRunning} onClick={write('fires')}>
        should load {name}
      </button>{' '}
      <button type="button" disabled={isRunning} onClick={write('silent')}>
        should not load it
      </button>
      {failure !== undefined && <span role="alert"> {failure}</span>}
    </p>
  )
}
