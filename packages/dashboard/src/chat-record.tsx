import type { ComponentChildren } from 'preact'
import type { ChatDetail, Turn } from 'skillstoke/client'
import { client } from './client.ts'
import { ExactPrompt } from './exact-prompt.tsx'
import { formatCount, shortDigest } from './format.ts'
import { Prefix } from './prefix.tsx'
import { toHash } from './route.ts'
import { describeUsage } from './token-usage.ts'
import { useLoaded } from './use-loaded.ts'

interface ChatRecordProps {
  readonly id: string
  /** Any text that is different after each change of the conversation. */
  readonly version: string
}

/** Renders what a conversation loaded, was told and will send, from the server's record of the conversation. */
export function ChatRecord({ id, version }: ChatRecordProps): ComponentChildren {
  const loaded = useLoaded(() => client.chat(id), [id, version])
  if (loaded === undefined) return null
  if ('failure' in loaded) return <p role="alert">{loaded.failure}</p>
  const detail = loaded.value
  return (
    <section class="record" aria-label="What the model has">
      <LoadedSkills detail={detail} />
      <Notices detail={detail} />
      <ModelCalls turns={detail.turns} />
      <ExactPrompt detail={detail} />
    </section>
  )
}

function LoadedSkills({ detail }: { readonly detail: ChatDetail }): ComponentChildren {
  const { loaded } = detail
  return (
    <>
      <h3>Loaded skills</h3>
      {loaded.length === 0 ? (
        <p class="note">The conversation has loaded no skill.</p>
      ) : (
        <ul class="plain-list">
          {loaded.map(({ name, revision, isCurrent }) => (
            <li key={name}>
              <a href={toHash({ view: 'skills', name })}>{name}</a> at <code>{shortDigest(revision)}</code>{' '}
              {!isCurrent && <span class="badge warning">changed since</span>}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

function Notices({ detail }: { readonly detail: ChatDetail }): ComponentChildren {
  const { turns, pending } = detail
  const told = turns.flatMap(({ turn, told: notices }) => notices.map(notice => ({ turn, ...notice })))
  return (
    <>
      <h3>Notices of changed skills</h3>
      {told.length === 0 && pending === null && <p class="note">No skill has changed in the meantime.</p>}
      {told.map(({ turn, text, tokens }, index) => (
        <details key={index}>
          <summary>
            Received in turn {turn}, +{formatCount(tokens)} tokens (estimated)
          </summary>
          <pre class="told">{text}</pre>
        </details>
      ))}
      {pending !== null && (
        <details open>
          <summary>Comes with the next question, +{formatCount(pending.tokens)} tokens (estimated)</summary>
          <pre class="told">{pending.text}</pre>
        </details>
      )}
    </>
  )
}

function ModelCalls({ turns }: { readonly turns: readonly Turn[] }): ComponentChildren {
  const calls = turns.flatMap(({ turn, calls: each }) => each.map(call => ({ turn, ...call })))
  if (calls.length === 0) return null
  return (
    <>
      <h3>Model calls</h3>
      <ul class="plain-list calls">
        {calls.map(({ turn, ...call }) => (
          <li key={`${turn} ${call.step}`}>
            Turn {turn}, call {call.step}:{' '}
            <span class={call.isUnchanged ? '' : 'changed'}>
              prefix <Prefix {...call} />
            </span>
            {call.usage !== null && `; ${describeUsage(call.usage)}`}
          </li>
        ))}
      </ul>
    </>
  )
}
