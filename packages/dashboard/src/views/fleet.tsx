import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { FleetList } from 'skillstoke/client'
import { client } from '../client.ts'
import { Answer } from '../parts/answer.tsx'
import { Card, Table } from '../parts/card.tsx'
import { ChangeButton } from '../parts/change-button.tsx'
import { Chips, type Filters } from '../parts/chips.tsx'
import { plural, shortDigest } from '../parts/format.ts'
import { Shape } from '../parts/icons.tsx'
import { act, question } from '../parts/overlay.tsx'
import { Ago, formatMoment } from '../parts/time.tsx'
import { useLoaded, useValue } from '../parts/use-loaded.ts'
import { chosenIn } from '../route.ts'

type Fleet = FleetList['fleets'][number]
type Report = NonNullable<Fleet['report']>
type FleetAgent = Report['agents'][number]
type Published = Report['skills'][number]

const REFRESH_MS = 2_000
const MAX_ROWS = 100
const MAX_RELEASES = 20

const round = signal(0)
const askAgain = (): void => void round.value++

/** The fleets that the server follows: who has which version, and what was published. */
export function FleetView(): ComponentChildren {
  const asked = useLoaded(() => client.fleet(), [round.value])
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
            fleets.map(fleet => <FleetSection key={fleet.label} fleet={fleet} />)
          )
        }
      </Answer>
    </main>
  )
}

function FleetSection({ fleet }: { readonly fleet: Fleet }): ComponentChildren {
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
          <Matrix report={report} label={label} />
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

/** Returns the revision that an agent serves instead of the published one; `undefined` if it names none. */
function differenceOf(agent: FleetAgent, { name }: Published): string | null | undefined {
  return agent.differs?.find(({ skill }) => skill === name)?.revision
}

/** How an agent stands to one skill: the look of its cell, the shape, and the words. */
const STANDINGS = {
  newest: ['ok', 'check', ''],
  held: ['no', 'wait', 'waits for approval'],
  differs: ['old', 'warn', 'differs'],
  stale: ['off', 'quiet', 'no contact'],
  unknown: ['off', 'quiet', 'did not say'],
} as const

function standingOf(agent: FleetAgent, skill: Published): keyof typeof STANDINGS {
  if (agent.state === 'stale') return 'stale'
  if (differenceOf(agent, skill) === undefined) return agent.namesAllDifferences ? 'newest' : 'unknown'
  return agent.state === 'held' ? 'held' : 'differs'
}

interface ReportProps {
  /** Label of the fleet. */
  readonly label: string
  readonly report: Report
}

function Matrix({ label, report }: ReportProps): ComponentChildren {
  const { agents, skills } = report
  const isDiffering = (skill: Published): boolean =>
    agents.some(agent => differenceOf(agent, skill) !== undefined)
  const filters: Filters<Published> = { '': ['Differs', isDiffering], all: ['All', () => true] }
  const differing = skills.filter(chosenIn(filters, 'show')[1][1])
  const canFilter = skills.some(isDiffering)
  return (
    <Card title="Who has what" side={canFilter && <Chips filters={filters} items={skills} />}>
      <Table
        label="Skills by agent"
        look="fleet"
        columns={[
          'Skill, version, released',
          ...agents.map(({ host, agent }) => (
            <>
              {host}
              <br />
              {agent}
            </>
          )),
          undefined,
        ]}
      >
        <tbody>
          {(canFilter ? differing : skills).slice(0, MAX_ROWS).map(skill => (
            <SkillLine key={skill.name} skill={skill} report={report} label={label} />
          ))}
        </tbody>
      </Table>
      {agents
        .filter(({ errors }) => errors.length > 0)
        .map(({ host, agent, errors }) => (
          <p key={`${host} ${agent}`} class="foot">
            <b>
              {agent} on {host}
            </b>
            <span>{errors.join('; ')}</span>
          </p>
        ))}
    </Card>
  )
}

function SkillLine({ skill, report, label }: ReportProps & { readonly skill: Published }): ComponentChildren {
  const { name, version, at } = skill
  const isSame = report.agents.every(agent => differenceOf(agent, skill) === undefined)
  const ask = isSame ? undefined : () => client.fleetVersions(label, name)
  const versions = useValue(ask, [label, name, version, isSame])?.versions
  return (
    <tr>
      <th scope="row">
        {name} {version}
        <span class="m xs">
          , <Ago at={at} />
        </span>
      </th>
      {report.agents.map(agent => {
        const [look, shape, words] = STANDINGS[standingOf(agent, skill)]
        const revision = differenceOf(agent, skill)
        const served = versions?.find(each => each.revision === revision)?.version
        return (
          <td key={`${agent.host} ${agent.agent}`}>
            <div class={`cell ${look}`}>
              <Shape name={shape} />
              {look === 'ok' && version}
              {revision && (served ?? shortDigest(revision).slice(0, 4))}
              {revision === null && 'none'}
            </div>
            <span class="m xs">
              {words}
              {look === 'off' && agent.staleSince !== undefined && (
                <>
                  {' since '}
                  <Ago at={agent.staleSince} />
                </>
              )}
            </span>
          </td>
        )
      })}
      <td>
        {version > 1 && (
          <ChangeButton
            class="btn sm bare danger"
            label={`Roll back ${name}…`}
            onClick={() => askRollback(label, skill, report)}
          >
            Roll back…
          </ChangeButton>
        )}
      </td>
    </tr>
  )
}

/** Asks with the version that would be published again. */
function askRollback(label: string, skill: Published, report: Report): void {
  const { name, version, revision } = skill
  const publish = async (wanted: number, expect: number): Promise<void> => {
    await client.rollbackFleet({ source: label, skill: name, version: wanted, expect })
    askAgain()
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
                {agents.filter(agent => standingOf(agent, skill) === 'newest').length} of{' '}
                {plural(agents.length, 'agent')}.
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
