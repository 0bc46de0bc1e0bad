import type { ComponentChildren } from 'preact'
import { shortDigest } from './format.ts'
import { type Route, route, toHash } from './route.ts'
import { type Connection, connection, isHelpOpen, rows, sessions, status, timeline } from './store.ts'

const CONNECTION_TEXT: Readonly<Record<Connection, string>> = {
  connecting: 'connecting',
  live: 'live',
  lost: 'connection lost, retrying',
  refused: 'refused',
}

export function Header(): ComponentChildren {
  const waiting = rows.value.filter(row => row.status === 'pending').length
  const fleets = status.value?.sources.filter(({ path }) => path.startsWith('fleet:')).length ?? 0
  const broken = rows.value.filter(row => row.status === 'broken').length
  return (
    <header class="bar">
      <h1>Skillstoke</h1>
      <nav aria-label="Views">
        <Tab target={{ view: 'skills' }} count={rows.value.length}>
          Skills
        </Tab>
        <Tab target={{ view: 'timeline' }} count={timeline.value.length}>
          Timeline
        </Tab>
        <Tab target={{ view: 'sessions' }} count={sessions.value.length}>
          Sessions
        </Tab>
        <Tab target={{ view: 'sources' }} count={status.value?.sources.length ?? 0}>
          Sources
        </Tab>
        {fleets > 0 && (
          <Tab target={{ view: 'fleet' }} count={fleets}>
            Fleet
          </Tab>
        )}
      </nav>
      <p class="facts" role="status" aria-live="polite">
        {waiting > 0 && <span class="badge pending">{waiting} pending</span>}
        {broken > 0 && <span class="badge broken">{broken} broken</span>}
        <GenerationFact />
        <span class={`dot ${connection.value}`} aria-hidden="true" />
        <span>{CONNECTION_TEXT[connection.value]}</span>
      </p>
      <button
        type="button"
        class="plain"
        aria-label="Keyboard help"
        onClick={() => (isHelpOpen.value = true)}
      >
        ?
      </button>
    </header>
  )
}

function GenerationFact(): ComponentChildren {
  const generation = status.value?.generation
  if (generation === undefined) return null
  return (
    <span id="generation" title={generation.digest}>
      generation {generation.number} <code>{shortDigest(generation.digest)}</code>
    </span>
  )
}

interface TabProps {
  readonly target: Route
  readonly count: number
  readonly children: ComponentChildren
}

function Tab({ target, count, children }: TabProps): ComponentChildren {
  const isCurrent = route.value.view === target.view
  return (
    <a href={toHash(target)} aria-current={isCurrent ? 'page' : undefined}>
      {children} <span class="count">{count}</span>
    </a>
  )
}
