import type { ComponentChildren } from 'preact'
import type { SessionInfo, Turn } from 'skillstoke/client'
import { client } from '../client.ts'
import {
  type ClientGroup,
  countPending,
  groups,
  lastSeenAt,
  listNames,
  listPending,
  STEP,
  titleOf,
} from '../client-groups.ts'
import { Card, Folded, RowGroup, Table } from '../parts/card.tsx'
import { Chips, type Filters } from '../parts/chips.tsx'
import { formatCount, plural, shortDigest } from '../parts/format.ts'
import { Shape } from '../parts/icons.tsx'
import { Ago } from '../parts/time.tsx'
import { useValue } from '../parts/use-loaded.ts'
import { chosenIn, route, toHash, toSkill } from '../route.ts'
import { ExactPrompt } from '../skill/exact-prompt.tsx'
import { describeUsage } from '../skill/token-usage.ts'
import { sessions, status } from '../store.ts'

const FILTERS: Filters<SessionInfo> = {
  '': ['All', () => true],
  told: ['Not yet told', ({ pending }) => pending !== null],
  cache: ['Cache lost', session => findLoss(session) !== undefined],
}
const COLUMNS = ['Conversation', 'What it knows', 'Skills loaded', 'Cache', 'Last step']

/** Which conversation knows what, what it will hear, and whether its cache was kept. */
export function AgentsView(): ComponentChildren {
  const { length } = groups.value
  const one = sessions.value.find(({ id }) => id === route.value.chosen)
  return (
    <main class="page" id="main" tabIndex={-1}>
      <h1>
        {length === 0
          ? 'No agent is connected'
          : `${plural(length, 'agent or client follows', 'agents and clients follow')} along`}
      </h1>
      <p class="lead">
        <Lead />
      </p>
      {length > 0 && (
        <div class={one === undefined ? '' : 'agents'}>
          <Conversations />
          {one !== undefined && <Conversation key={one.id} session={one} />}
        </div>
      )}
    </main>
  )
}

function Lead(): ComponentChildren {
  const pending = countPending(sessions.value)
  if (groups.value.length === 0)
    return (
      <>
        <code>stoke mcp install claude-code</code> connects Claude Code, and other clients in the same way.
      </>
    )
  const hear = plural(pending, 'conversation hears', 'conversations hear')
  const state =
    pending === 0
      ? 'All conversations are up to date.'
      : `${hear} about ${listPending(sessions.value)} at the next step. Nothing has to restart.`
  return `${state} ${STEP} If the cache is kept, the provider's prompt cache still matches, so the step is cheap.`
}

function isKept({ calls }: Turn): boolean {
  return calls.every(({ isUnchanged, last }) => last === null || isUnchanged)
}

/** Finds the last step that lost the cache of the provider. */
function findLoss({ turns }: SessionInfo): number | undefined {
  return turns.findLast(turn => !isKept(turn))?.turn
}

function Conversations(): ComponentChildren {
  const [show, [, keeps]] = chosenIn(FILTERS, 'show')
  return (
    <Card title="Conversations" side={<Chips filters={FILTERS} items={sessions.value} />}>
      <Table label="Table of conversations" look="cards" columns={COLUMNS}>
        {groups.value.map(group => {
          // A client without conversations has one row.
          const shown = group.sessions.length > 0 || show !== '' ? group.sessions.filter(keeps) : [undefined]
          const title = [<b key="name">{group.name}</b>, ` ${group.version}`]
          return (
            shown.length > 0 && (
              <RowGroup key={group.key} title={title} width={COLUMNS.length}>
                {shown.map(session => (
                  <Row key={session?.id} group={group} session={session} />
                ))}
              </RowGroup>
            )
          )
        })}
      </Table>
    </Card>
  )
}

interface RowProps {
  readonly group: ClientGroup
  readonly session: SessionInfo | undefined
}

function Row({ group, session }: RowProps): ComponentChildren {
  const loaded = session === undefined ? group.loaded : session.loaded.map(({ name }) => name)
  const lastAt = session === undefined ? group.lastAt : lastSeenAt(session)
  const isReported = session?.turns.some(({ calls }) => calls.length > 0) === true
  const loss = session && findLoss(session)
  return (
    <tr class={session !== undefined && session.id === route.value.chosen ? 'chosen' : ''}>
      <th scope="row">
        {session === undefined ? (
          group.name
        ) : (
          <a href={toHash({ ...route.value, chosen: session.id })}>{titleOf(session)}</a>
        )}
      </th>
      <td data-l="Knows">
        <span class="sline">
          <Shape name={session?.pending ? 'wait' : 'live'} />
          {describeKnown(session)}
        </span>
      </td>
      <td data-l="Loaded">
        {loaded.length === 0 && <span class="m">nothing</span>}
        {loaded.map(name => (
          <a key={name} class="pill" href={toSkill(name)}>
            {name}
          </a>
        ))}
      </td>
      <td data-l="Cache">
        {isReported ? (
          <span class="sline">
            <Shape name={loss === undefined ? 'check' : 'warn'} />
            {loss === undefined ? 'kept' : `lost at step ${loss}`}
          </span>
        ) : (
          <span class="m">not reported</span>
        )}
      </td>
      <td data-l="Last step" class="m nw">
        {lastAt !== undefined && <Ago at={lastAt} />}
      </td>
    </tr>
  )
}

function describeKnown(session: SessionInfo | undefined): string {
  if (session === undefined) return 'Reads fresh text at each request'
  const { pending } = session
  if (pending === null) return 'Up to date'
  return `Hears about ${listNames(pending.about)} at its next step, +${formatCount(pending.tokens)} tokens`
}

/** One conversation: what it will hear, and its steps. */
function Conversation({ session }: { readonly session: SessionInfo }): ComponentChildren {
  const { pending, turns, loaded, catalog } = session
  const behind = loaded.filter(({ isCurrent }) => !isCurrent).map(({ name }) => name)
  const { chosen: _chosen, ...rest } = route.value
  return (
    <Card title={titleOf(session)} side={<a href={toHash(rest)}>Close</a>}>
      {pending !== null && (
        <div class="note wait">
          <Shape name="wait" />
          <div class="s">
            {behind.length > 0 && <p>It answers from the earlier text of {listNames(behind)}.</p>}
            <p>At its next step it hears:</p>
            <pre class="told">{pending.text}</pre>
          </div>
        </div>
      )}
      <ol class="steps">
        {turns.toReversed().map(turn => (
          <Step key={turn.turn} turn={turn} />
        ))}
        <li>
          <Shape name="quiet" />
          Began with {plural(catalog.listed, 'skill')} in {formatCount(catalog.tokens)} tokens
          {catalog.omitted > 0 && `; ${formatCount(catalog.omitted)} did not fit`}
        </li>
      </ol>
      <Details session={session} />
    </Card>
  )
}

function Step({ turn }: { readonly turn: Turn }): ComponentChildren {
  const { told, answer, failure, question, at } = turn
  const heard = told.reduce((sum, { tokens }) => sum + tokens, 0)
  return (
    <li>
      <Shape name={failure === null ? 'live' : 'broken'} />
      <span class="m">
        Step {turn.turn}, <Ago at={at} />
      </span>
      {told.length > 0 && (
        <Folded
          title={`Heard of changes, +${formatCount(heard)} tokens. Cache ${isKept(turn) ? 'kept' : 'lost'}.`}
        >
          {() => <pre class="told">{told.map(({ text }) => text).join('\n')}</pre>}
        </Folded>
      )}
      <p class="m">“{question}”</p>
      <p>{failure ?? answer ?? 'The model is answering …'}</p>
    </li>
  )
}

/** The machine's words: the exact prompt or catalog, fingerprints and tokens. */
function Details({ session }: { readonly session: SessionInfo }): ComponentChildren {
  const { id, kind, generation, loaded, turns } = session
  const facts: (readonly [string, string])[] = [
    ['Session', id],
    [
      'Generation',
      `${generation.number} ${shortDigest(generation.digest)}; newest ${status.value?.generation.number}`,
    ],
    ...loaded.map(({ name, revision }) => [name, shortDigest(revision)] as const),
    ...turns.flatMap(({ turn, calls }) =>
      calls.map(({ step, prefix, last, sentBefore, isUnchanged, usage }) => {
        const change =
          last === null ? 'first sent' : isUnchanged ? 'unchanged' : `changed to ${sentBefore ?? 'less'}`
        const cost = usage === null ? '' : `; ${describeUsage(usage)}`
        return [`Step ${turn}, call ${step}`, `${last ?? prefix} ${change}${cost}`] as const
      }),
    ),
  ]
  return (
    <div class="details">
      <Folded title="What it sees">
        {() =>
          kind === 'page' ? (
            <ExactPrompt id={id} version={JSON.stringify(session)} />
          ) : (
            <CatalogText id={id} />
          )
        }
      </Folded>
      <Folded title="Tokens and fingerprints">
        {() => (
          <dl>
            {facts.map(([name, fact]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{fact}</dd>
              </div>
            ))}
          </dl>
        )}
      </Folded>
    </div>
  )
}

function CatalogText({ id }: { readonly id: string }): ComponentChildren {
  const all = useValue(() => client.sessions(), [id])
  const text = all?.sessions.find(each => each.id === id)?.catalogText
  return <pre class="told">{text === '' ? 'It began without skills.' : (text ?? 'Loading …')}</pre>
}
