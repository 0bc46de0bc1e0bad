import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { FleetList } from 'skillstoke/client'
import { client } from '../client.ts'
import { Answer } from '../parts/answer.tsx'
import { Card, ScrolledTable } from '../parts/card.tsx'
import { ChangeButton } from '../parts/change-button.tsx'
import { Chips } from '../parts/chips.tsx'
import { plural, shortDigest } from '../parts/format.ts'
import { Shape } from '../parts/icons.tsx'
import { act, question } from '../parts/overlay.tsx'
import { Ago, formatMoment } from '../parts/time.tsx'
import { useLoaded, useValue } from '../parts/use-loaded.ts'
import { route } from '../route.ts'

type Fleet = FleetList['fleets'][number]
type Report = NonNullable<Fleet['report']>
type FleetAgent = Report['agents'][number]
type Published = Report['skills'][number]

const REFRESH_MS = 2_000
const MAX_ROWS = 100
const MAX_RELEASES = 20

/** The fleets that the server follows: who has which version, and what was published. */
export function FleetView(): ComponentChildren {
  const round = useSignal(0)
  const asked = useLoaded(() => client.fleet(), [round.value])
  const askAgain = (): void => void round.value++
  // Asks again only after an answer, because servers that are away answer late.
  useEffect(() => {
    const timer = setTimeout(askAgain, REFRESH_MS)
    return () => clearTimeout(timer)
  }, [asked])
  return (
    <main class="page" id="main" tabIndex={-1}>
      <Answer of={asked}>
        {({ fleets }) =>
          fleets.length === 0 ? (
            <h1>This server follows no fleet</h1>
          ) : (
            fleets.map(fleet => <FleetSection key={fleet.label} fleet={fleet} onChange={askAgain} />)
          )
        }
      </Answer>
    </main>
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
  const report = last.current?.report
  return (
    <section class="fleets" aria-labelledby={`fleet-${label}`}>
      <h1 id={`fleet-${label}`}>{report === undefined ? channel : describeFleet(report)}</h1>
      <p class="lead">
        Channel {channel} at {servers}
        {report !== undefined && `, ${plural(report.skills.length, 'skill')}`}
      </p>
      {failure !== null && (
        <div class="note broken" role="alert">
          <Shape name="broken" />
          <p>
            {failure}
            {last.current !== null && `. This is the state of ${formatMoment(last.current.at)}.`}
          </p>
        </div>
      )}
      {report !== undefined && (
        <div class="stack">
          <Matrix report={report} label={label} onChange={onChange} />
          <Releases report={report} />
        </div>
      )}
    </section>
  )
}

/** The state of the agents, as the headline. */
function describeFleet({ agents, counts, skills }: Report): string {
  const all = agents.length
  if (skills.length === 0) return 'Nothing is published'
  if (all === 0) return 'No agent has reported in the last 60 seconds'
  if (counts.current === all)
    return plural(all, 'agent has every newest version', 'agents have every newest version')
  return `${counts.current} of ${plural(all, 'agent')} have every newest version`
}

/** Returns the revision that an agent serves instead of the published one; `undefined` if it serves that one. */
function differenceOf(agent: FleetAgent, { name }: Published): string | null | undefined {
  return agent.differs?.find(({ skill }) => skill === name)?.revision
}

/** Agents name at most this many differences. */
const MAX_DIFFERS = 50

/** Whether an agent serves the published revision; `undefined` if it did not say. */
function hasNewest(agent: FleetAgent, skill: Published): boolean | undefined {
  if (differenceOf(agent, skill) !== undefined) return false
  if (agent.state === 'current') return true
  const isWhole = agent.differs !== undefined && agent.differs.length < MAX_DIFFERS
  return agent.state !== 'stale' && isWhole ? true : undefined
}

interface MatrixProps {
  readonly report: Report
  readonly label: string
  readonly onChange: () => void
}

function Matrix({ report, label, onChange }: MatrixProps): ComponentChildren {
  const { agents, skills } = report
  const isAll = route.value.query['show'] === 'all'
  const differing = skills.filter(skill => agents.some(agent => differenceOf(agent, skill) !== undefined))
  const shown = isAll || differing.length === 0 ? skills : differing
  return (
    <Card
      title="Who has what"
      side={
        differing.length > 0 && (
          <div class="r bar-x">
            <Chips
              chips={[
                ['', 'Differs', differing.length],
                ['all', 'All', skills.length],
              ]}
              chosen={isAll ? 'all' : ''}
            />
          </div>
        )
      }
    >
      <ScrolledTable label="Skills by agent" look="fleet">
        <thead>
          <tr>
            <th scope="col">Skill, version</th>
            {agents.map(({ host, agent }) => (
              <th key={`${host} ${agent}`} scope="col">
                {host}
                <br />
                {agent}
              </th>
            ))}
            <td />
          </tr>
        </thead>
        <tbody>
          {shown.slice(0, MAX_ROWS).map(skill => (
            <SkillLine key={skill.name} skill={skill} report={report} label={label} onChange={onChange} />
          ))}
        </tbody>
      </ScrolledTable>
      <div class="foot">
        {KEYS.map(([look, words]) => (
          <span key={look} class="key m xs">
            <span class={`cell ${look}`} />
            {words}
          </span>
        ))}
      </div>
      {agents
        .filter(({ errors, staleSince }) => errors.length > 0 || staleSince !== undefined)
        .map(({ host, agent, errors, staleSince }) => (
          <p key={`${host} ${agent}`} class="foot">
            <b>
              {agent} on {host}
            </b>
            {staleSince !== undefined && <span>has no contact since</span>}
            {staleSince !== undefined && <Ago at={staleSince} />}
            <span>{errors.join('; ')}</span>
          </p>
        ))}
    </Card>
  )
}

const KEYS = [
  ['ok', 'has the version'],
  ['no', 'waits for approval'],
  ['old', 'differs'],
  ['off', 'no contact'],
] as const

function SkillLine({
  skill,
  report,
  label,
  onChange,
}: MatrixProps & { readonly skill: Published }): ComponentChildren {
  const { name, version } = skill
  const isSame = report.agents.every(agent => differenceOf(agent, skill) === undefined)
  const ask = isSame ? undefined : () => client.fleetVersions(label, name)
  const versions = useValue(ask, [label, name, version, isSame])?.versions
  const numberOf = (revision: string): string =>
    String(versions?.find(each => each.revision === revision)?.version ?? shortDigest(revision).slice(0, 4))
  return (
    <tr>
      <th scope="row">
        {name} <span class="m xs">{version}</span>
      </th>
      {report.agents.map(agent => {
        const [look, shape, served, words] = toCell(agent, skill, numberOf)
        return (
          <td key={`${agent.host} ${agent.agent}`}>
            <div class={`cell ${look}`} title={words}>
              <Shape name={shape} />
              {served}
            </div>
          </td>
        )
      })}
      <td>
        {version > 1 && (
          <ChangeButton
            class="btn sm bare danger"
            label={`Roll back ${name}…`}
            onClick={() => askRollback(label, skill, report, onChange)}
          >
            Roll back…
          </ChangeButton>
        )}
      </td>
    </tr>
  )
}

function toCell(agent: FleetAgent, skill: Published, numberOf: (revision: string) => string) {
  const revision = differenceOf(agent, skill)
  const served = revision === undefined ? String(skill.version) : revision === null ? '–' : numberOf(revision)
  if (agent.state === 'stale') return ['off', 'quiet', 'off', 'no contact to the servers'] as const
  if (hasNewest(agent, skill) === undefined)
    return ['off', 'quiet', '?', 'did not say what it serves'] as const
  if (revision === undefined) return ['ok', 'check', served, 'has the version'] as const
  if (agent.state === 'held')
    return ['no', 'wait', served, 'differs; a change waits for approval on this machine'] as const
  return ['old', 'warn', served, 'differs from what was published'] as const
}

/** Asks with the version that would be published again. */
function askRollback(label: string, skill: Published, report: Report, onChange: () => void): void {
  const { name, version, revision } = skill
  const publish = async (wanted: number, expect: number): Promise<void> => {
    await client.rollbackFleet({ source: label, skill: name, version: wanted, expect })
    onChange()
  }
  act(async () => {
    const { versions } = await client.fleetVersions(label, name)
    const isOther = (each: (typeof versions)[number]): boolean =>
      each.revision !== null && each.revision !== revision
    const target = versions.find(each => each.version < version && isOther(each))
    if (target === undefined) return { text: `${name} has no earlier version with other files.` }
    question.value = {
      title: `Roll back ${name} from version ${version} to ${target.version}?`,
      text: `${plural(report.agents.length, 'agent gets', 'agents get')} it at the next step, as version ${version + 1}.`,
      preview: (
        <ul class="who">
          {versions.slice(0, versions.indexOf(target) + 1).map(each => (
            <li key={each.version}>
              <Shape name={each === target ? 'live' : 'quiet'} />
              <span>
                Version {each.version} by {each.publisher}
                {each.note !== undefined && `: “${each.note}”`}
              </span>
              <Ago at={each.at} />
            </li>
          ))}
        </ul>
      ),
      confirm: 'Roll back',
      isDangerous: true,
      run: async () => {
        await publish(target.version, version)
        return {
          text: `Published version ${target.version} of ${name} again.`,
          undo: () => publish(version, version + 1),
        }
      },
    }
    return undefined
  })
}

function Releases({ report }: { readonly report: Report }): ComponentChildren {
  const { agents, skills, refusals } = report
  const newest = skills.toSorted((a, b) => b.at - a.at).slice(0, MAX_RELEASES)
  return (
    <Card title="Releases">
      <ul class="log">
        {newest.map(skill => (
          <li key={skill.name}>
            <Shape name="live" />
            <p>
              {skill.publisher} released <b>{skill.name}</b> {skill.version}
              {skill.note !== undefined && `: ${skill.note}`}{' '}
              <span class="to">
                {agents.filter(agent => hasNewest(agent, skill)).length} of {plural(agents.length, 'agent')}.
              </span>
            </p>
            <Ago at={skill.at} />
          </li>
        ))}
        {refusals.map(({ subject, reason }) => (
          <li key={subject}>
            <Shape name="broken" />
            <p>
              <b>{subject}</b> was refused: {reason}
            </p>
          </li>
        ))}
      </ul>
    </Card>
  )
}
