import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { FleetList } from 'skillstoke/client'
import { Answer } from './answer.tsx'
import { client } from './client.ts'
import { Digest } from './digest.tsx'
import { formatCount, formatTime, plural } from './format.ts'
import { Moment } from './moment.tsx'
import { Table } from './table.tsx'
import { useAction } from './use-action.ts'
import { useLoaded } from './use-loaded.ts'

type Fleet = FleetList['fleets'][number]
type Report = NonNullable<Fleet['report']>
type AgentState = Report['agents'][number]['state']

const REFRESH_MS = 2_000

/** The badge of each state of an agent. */
const BADGES: Readonly<Record<AgentState, string>> = {
  current: 'ok',
  behind: 'warning',
  held: 'pending',
  stale: 'broken',
}

/** Renders the fleets that the dev server follows: the published versions, and which agent serves what. */
export function FleetView(): ComponentChildren {
  const round = useSignal(0)
  const asked = useLoaded(() => client.fleet(), [round.value])
  // Asks again only after an answer, because servers that are away answer late.
  useEffect(() => {
    const timer = setTimeout(() => round.value++, REFRESH_MS)
    return () => clearTimeout(timer)
  }, [asked])
  return (
    <Answer of={asked}>
      {({ fleets }) =>
        fleets.map(fleet => <FleetSection key={fleet.label} fleet={fleet} onChange={() => round.value++} />)
      }
    </Answer>
  )
}

interface FleetProps {
  readonly fleet: Fleet
  /** Called after a change, so that the newest state is shown at once. */
  readonly onChange: () => void
}

function FleetSection({ fleet, onChange }: FleetProps): ComponentChildren {
  const { label, channel, servers, failure } = fleet
  const last = useRef<{ readonly report: Report; readonly at: Date } | null>(null)
  if (fleet.report !== null) last.current = { report: fleet.report, at: new Date() }
  const report = last.current?.report ?? null
  const id = `fleet-${label}`
  return (
    <section class="fleet" aria-labelledby={id}>
      <h2 id={id}>
        {channel} <span class="path">{servers}</span>
      </h2>
      {failure !== null && (
        <p role="alert">
          {failure}
          {last.current !== null && `. This is the state of ${formatTime(last.current.at.toISOString())}.`}
        </p>
      )}
      {report !== null && (
        <>
          <p>
            {plural(report.skills.length, 'skill')} <Digest of={report.digest} />, nats-server{' '}
            {report.serverVersion}. {describeAgents(report)}
          </p>
          <Agents report={report} />
          <Versions report={report} label={label} onChange={onChange} />
          {report.refusals.length > 0 && (
            <ul class="findings" aria-label="Refused versions">
              {report.refusals.map(({ subject, reason }) => (
                <li key={subject} class="error">
                  <strong>{subject}</strong> was refused: {reason}
                </li>
              ))}
            </ul>
          )}
        </>
      )}
    </section>
  )
}

function describeAgents({ agents, counts }: Report): string {
  if (agents.length === 0) return 'No agent has reported in the last 60 seconds.'
  const states = (Object.keys(counts) as AgentState[]).filter(state => counts[state] > 0)
  return `${plural(agents.length, 'agent')}: ${states.map(state => `${formatCount(counts[state])} ${state}`).join(', ')}.`
}

function Agents({ report }: { readonly report: Report }): ComponentChildren {
  if (report.agents.length === 0) return null
  return (
    <div class="scrolls">
      <h3>Agents</h3>
      <Table
        label="Agents"
        rows={report.agents}
        keyOf={({ host, agent }) => `${host} ${agent}`}
        columns={{
          Host: ({ host }) => host,
          Agent: ({ agent }) => agent,
          State: ({ state }) => <span class={`badge ${BADGES[state]}`}>{state}</span>,
          Digest: ({ digest }) => <Digest of={digest} />,
          Generation: ({ generation }) => generation.number,
          Lag: ({ lagMs }) => (lagMs === undefined ? '–' : `${formatCount(lagMs)} ms`),
          Sandbox: ({ sandbox }) => sandbox ?? '–',
          Problems: describeProblems,
        }}
      />
    </div>
  )
}

function describeProblems({ staleSince, held, errors }: Report['agents'][number]): string {
  const stale =
    staleSince === undefined ? '' : `stale since ${formatTime(new Date(staleSince).toISOString())} `
  return `${stale}${held > 0 ? `${formatCount(held)} held ` : ''}${errors.join('; ')}`
}

interface VersionsProps {
  readonly report: Report
  readonly label: string
  readonly onChange: () => void
}

/** Renders the published versions. Each version above 1 has a button that publishes the version before it again. */
function Versions({ report, label, onChange }: VersionsProps): ComponentChildren {
  const { isRunning, failure, run } = useAction()
  if (report.skills.length === 0) return <p class="empty">Nothing is published in this channel.</p>
  return (
    <>
      {failure !== undefined && <p role="alert">{failure}</p>}
      <div class="scrolls">
        <h3>Published versions</h3>
        <Table
          label="Published versions"
          rows={report.skills}
          keyOf={({ name }) => name}
          columns={{
            Skill: ({ name }) => name,
            Version: ({ version }) => version,
            Revision: ({ revision }) => <Digest of={revision} />,
            Published: ({ at }) => <Moment at={at} />,
            By: ({ publisher }) => publisher,
            Note: ({ note }) => note,
          }}
          actions={({ name, version }) =>
            version > 1 && (
              <RollbackButton
                name={name}
                version={version}
                agents={report.agents.length}
                isRunning={isRunning}
                onConfirm={() =>
                  run(async () => {
                    await client.rollbackFleet({ source: label, skill: name, expect: version })
                    onChange()
                  })
                }
              />
            )
          }
        />
      </div>
    </>
  )
}

interface RollbackProps {
  readonly name: string
  readonly version: number
  readonly agents: number
  readonly isRunning: boolean
  readonly onConfirm: () => void
}

/** Renders a button that asks before it changes what all agents serve. */
function RollbackButton({ name, version, agents, isRunning, onConfirm }: RollbackProps): ComponentChildren {
  const isAsking = useSignal(false)
  if (!isAsking.value)
    return (
      <button type="button" class="plain" disabled={isRunning} onClick={() => (isAsking.value = true)}>
        Roll back <span class="hidden">{name}</span>
      </button>
    )
  return (
    <span>
      Replace version {version} with the version before it on {plural(agents, 'agent')}?{' '}
      <button
        type="button"
        class="plain"
        onClick={() => {
          isAsking.value = false
          onConfirm()
        }}
      >
        Yes, roll back <span class="hidden">{name}</span>
      </button>{' '}
      <button type="button" class="plain" onClick={() => (isAsking.value = false)}>
        Cancel
      </button>
    </span>
  )
}
