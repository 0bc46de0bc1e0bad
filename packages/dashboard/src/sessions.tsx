import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { SessionInfo, SessionList, Turn } from 'skillstoke/client'
import { client } from './client.ts'
import { formatCount, plural, shortDigest } from './format.ts'
import { Prefix } from './prefix.tsx'
import { toHash } from './route.ts'
import { sessions, status } from './store.ts'
import { type Loaded, useLoaded } from './use-loaded.ts'

/** Renders each conversation: its last notices, its next notice, and whether its prefix is unchanged. */
export function Sessions(): ComponentChildren {
  return (
    <section class="sessions" aria-labelledby="sessions-title">
      <h2 id="sessions-title">Sessions</h2>
      {sessions.value.length === 0 && <p class="empty">No conversation uses the skills at the moment.</p>}
      {sessions.value.map(session => (
        <Session key={session.id} session={session} />
      ))}
    </section>
  )
}

interface SessionProps {
  readonly session: SessionInfo
}

function Session({ session }: SessionProps): ComponentChildren {
  const { id, generation, loaded, pending, turns } = session
  const newest = status.value?.generation
  const behind = newest === undefined ? 0 : newest.number - generation.number
  return (
    <article class="session" aria-labelledby={`session-${id}`}>
      <h3 id={`session-${id}`}>{id}</h3>
      <p>
        Knows generation {generation.number} <code>{shortDigest(generation.digest)}</code>
        {behind > 0 && `; the newest is ${newest?.number}`}.{' '}
        {pending === null ? 'No notice is pending.' : `Notice for its next step, ${cost(pending.tokens)}:`}
      </p>
      {pending !== null && <pre class="told">{pending.text}</pre>}
      {loaded.length > 0 && (
        <p>
          Loaded:{' '}
          {loaded.map(({ name, revision, isCurrent }) => (
            <span key={name} class="loaded">
              <a href={toHash({ view: 'skills', name })}>{name}</a> <code>{shortDigest(revision)}</code>
              {!isCurrent && <span class="badge warning">changed since</span>}
            </span>
          ))}
        </p>
      )}
      {turns.length > 0 && <Turns turns={turns} />}
      <Catalog session={session} />
    </article>
  )
}

function cost(tokens: number): string {
  return `+${formatCount(tokens)} tokens (estimated)`
}

function Turns({ turns }: { readonly turns: readonly Turn[] }): ComponentChildren {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling section must be reachable by keyboard
    <section class="table" aria-label="Turns" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Turn</th>
            <th scope="col">Told</th>
            <th scope="col">Model calls: prefix sent before</th>
            <th scope="col">Question and answer</th>
          </tr>
        </thead>
        <tbody>
          {turns.toReversed().map(({ turn, question, told, calls, answer, failure }) => (
            <tr key={turn}>
              <td>{turn}</td>
              <td title={told.map(each => each.text).join('\n')}>
                {told.length === 0 ? '–' : cost(told.reduce((sum, each) => sum + each.tokens, 0))}
              </td>
              <td>
                {calls.map(call => (
                  <span key={call.step} class={call.isUnchanged ? 'prefix' : 'prefix changed'}>
                    {call.step}: <Prefix {...call} />
                  </span>
                ))}
              </td>
              <td>
                <p class="question">{question}</p>
                <p class="answer">{failure ?? answer ?? '…'}</p>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/**
 * Renders the exact catalog that the system prompt of a conversation contains. Fetches the catalog when the user opens
 * the details.
 */
function Catalog({ session }: SessionProps): ComponentChildren {
  const isOpen = useSignal(false)
  const { tokens, listed, omitted } = session.catalog
  const answer = useLoaded(isOpen.value ? () => client.sessions() : undefined, [
    isOpen.value,
    session.id,
    tokens,
  ])
  return (
    <details onToggle={event => (isOpen.value = event.currentTarget.open)}>
      <summary>
        Catalog: {plural(listed, 'skill')} in {formatCount(tokens)} tokens
        {omitted > 0 && `, ${formatCount(omitted)} omitted`}
      </summary>
      <pre class="told">{toCatalogText(answer, session.id)}</pre>
    </details>
  )
}

function toCatalogText(answer: Loaded<SessionList>, id: string): string {
  if (answer === undefined) return 'Loading …'
  if ('failure' in answer) return answer.failure
  return answer.value.sessions.find(each => each.id === id)?.catalogText ?? 'This conversation has ended.'
}
