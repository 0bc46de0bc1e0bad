import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { ApiClient, FleetList } from 'skillstoke/client'
import { DataTable } from './data-table.tsx'
import { formatCount, formatTime, plural, shortDigest } from './format.ts'
import { Moment } from './moment.tsx'
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
export function FleetView({ client }: { readonly client: ApiClient }): ComponentChildren {
  const round = useSignal(0)
  const asked = useLoaded(() => client.fleet(), [round.value])
  // Asks again only after an answer, because servers that are away answer late.
  useEffect(() => {
    const timer = setTimeout(() => round.value++, REFRESH_MS)
    return () => clearTimeout(timer)
  }, [asked])
  if (asked === undefined) return <p class="empty">Loading …</p>
  if ('failure' in asked) return <p role="alert">{asked.failure}</p>
  return (
    <>
      {asked.value.fleets.map(fleet => (
        <FleetSection key={fleet.label} fleet={fleet} client={client} onChange={() => round.value++} />
      ))}
    </>
  )
}

interface FleetProps {
  readonly fleet: Fleet
  readonly client: ApiClient
  /** Called after a change, so that the newest state is shown at once. */
  readonly onChange: () => void
}

function FleetSection({ fleet, client, onChange }: FleetProps): ComponentChildren {
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
            {plural(report.skills.length, 'skill')}{' '}
            <code title={report.digest}>{shortDigest(report.digest)}</code>, nats-server{' '}
            {report.serverVersion}. {describeAgents(report)}
          </p>
          <Agents report={report} />
          <Versions report={report} label={label} client={client} onChange={onChange} />
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
      <DataTable
        label="Agents"
        rows={report.agents}
        keyOf={({ host, agent }) => `${host} ${agent}`}
        columns={{
          Host: ({ host }) => host,
          Agent: ({ agent }) => agent,
          State: ({ state }) => <span class={`badge ${BADGES[state]}`}>{state}</span>,
          Digest: ({ digest }) => <code title={digest}>{shortDigest(digest)}</code>,
          Generation: ({ generation }) => generation.number,
          Lag: ({ lagMs }) => (lagMs === undefined ? '–' : `${formatCount(lagMs)} ms`),
          Sandbox: ({ sandbox }) => sandbox ?? '–',
          Problems: ({ staleSince, held, errors }) => (
            <>
              {staleSince !== undefined && `stale since ${formatTime(new Date(staleSince).toISOString())} `}
              {held > 0 && `${formatCount(held)} held `}
              {errors.join('; ')}
            </>
          ),
        }}
      />
    </div>
  )
}

interface VersionsProps {
  readonly report: Report
  readonly label: string
  readonly client: ApiClient
  readonly onChange: () => void
}

/** Renders the published versions. Each version above 1 has a button that publishes the version before it again. */
function Versions({ report, label, client, onChange }: VersionsProps): ComponentChildren {
  const { isRunning, failure, run } = useAction()
  if (report.skills.length === 0) return <p class="empty">Nothing is published in this channel.</p>
  return (
    <>
      {failure !== undefined && <p role="alert">{failure}</p>}
      <div class="scrolls">
        <h3>Published versions</h3>
        <DataTable
          label="Published versions"
          rows={report.skills}
          keyOf={({ name }) => name}
          columns={{
            Skill: ({ name }) => name,
            Version: ({ version }) => version,
            Revision: ({ revision }) => <code title={revision}>{shortDigest(revision)}</code>,
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
