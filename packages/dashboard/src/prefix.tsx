import type { ComponentChildren } from 'preact'
import type { ModelCall } from 'skillstoke/client'

/** Says whether the prefix of a request to the model stayed the same. */
export function Prefix({ prefix, last, sentBefore, isUnchanged }: ModelCall): ComponentChildren {
  return (
    <>
      <code>{last ?? prefix}</code>{' '}
      {last === null ? 'first sent' : isUnchanged ? 'unchanged' : `CHANGED to ${sentBefore ?? 'less'}`}
    </>
  )
}
