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
  titleOf,
} from '../client-groups.ts'
import { Card, Folded, ScrolledTable } from '../parts/card.tsx'
import { Chips } from '../parts/chips.tsx'
import { formatCount, plural, shortDigest } from '../parts/format.ts'
import { Shape } from '../parts/icons.tsx'
import { Ago } from '../parts/time.tsx'
import { useValue } from '../parts/use-loaded.ts'
import { route, toHash, toSkill } from '../route.ts'
import { ExactPrompt } from '../skill/exact-prompt.tsx'
import { describeUsage } from '../skill/token-usage.ts'
import { sessions, status } from '../store.ts'

const FILTERS = { all: 'All', told: 'Not yet told', cache: 'Cache lost' } as const
type Filter = keyof typeof FILTERS
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
          <Conversations chosen={one?.id} />
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
  if (pending === 0) return 'All conversations are up to date.'
  const about = listPending(sessions.value)
  return `${plural(pending, 'conversation hears', 'conversations hear')} about ${about} at the next step. Nothing has to restart.`
}

function isIn(session: SessionInfo, filter: Filter): boolean {
  if (filter === 'told') return session.pending !== null
  return filter === 'all' || findLoss(session) !== undefined
}

function isKept({ calls }: Turn): boolean {
  return calls.every(({ isUnchanged, last }) => last === null || isUnchanged)
}

/** Finds the last step that lost the cache of the provider. */
function findLoss({ turns }: SessionInfo): number | undefined {
  return turns.findLast(turn => !isKept(turn))?.turn
}

function Conversations({ chosen }: { readonly chosen: string | undefined }): ComponentChildren {
  const { show } = route.value.query
  const filter = show !== undefined && Object.hasOwn(FILTERS, show) ? (show as Filter) : 'all'
  const chips = (Object.keys(FILTERS) as Filter[]).map(
    each =>
      [
        each === 'all' ? '' : each,
        FILTERS[each],
        sessions.value.filter(session => isIn(session, each)).length,
      ] as const,
  )
  return (
    <Card
      title="Conversations"
      side={
        <div class="r bar-x">
          <Chips chips={chips} chosen={filter === 'all' ? '' : filter} />
        </div>
      }
    >
      <ScrolledTable label="Table of conversations" look="cards">
        <thead>
          <tr>
            {COLUMNS.map(each => (
              <th key={each} scope="col">
                {each}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {groups.value.map(group => (
            <GroupRows key={group.key} group={group} filter={filter} chosen={chosen} />
          ))}
        </tbody>
      </ScrolledTable>
    </Card>
  )
}

interface GroupRowsProps {
  readonly group: ClientGroup
  readonly filter: Filter
  readonly chosen: string | undefined
}

function GroupRows({ group, filter, chosen }: GroupRowsProps): ComponentChildren {
  const { name, version, sessions: own, loaded, lastAt } = group
  const shown = own.filter(session => isIn(session, filter))
  if (shown.length === 0 && (own.length > 0 || filter !== 'all')) return null
  return (
    <>
      <tr>
        <th class="grp" colSpan={COLUMNS.length} scope="colgroup">
          <b>{name}</b> {version}
        </th>
      </tr>
      {own.length === 0 && (
        <Row title={name} knows="Reads fresh text at each request" loaded={loaded} lastAt={lastAt} />
      )}
      {shown.map(session => (
        <SessionRow key={session.id} session={session} isChosen={session.id === chosen} />
      ))}
    </>
  )
}

interface SessionRowProps {
  readonly session: SessionInfo
  readonly isChosen: boolean
}

function SessionRow({ session, isChosen }: SessionRowProps): ComponentChildren {
  const { id, pending, loaded, turns } = session
  const loss = findLoss(session)
  const isReported = turns.some(({ calls }) => calls.length > 0)
  const cache = (
    <span class="sline">
      <Shape name={loss === undefined ? 'check' : 'warn'} />
      {loss === undefined ? 'kept' : `lost at step ${loss}`}
    </span>
  )
  return (
    <Row
      isChosen={isChosen}
      isWaiting={pending !== null}
      title={<a href={toHash({ ...route.value, chosen: id })}>{titleOf(session)}</a>}
      knows={
        pending === null
          ? 'Up to date'
          : `Hears about ${listNames(pending.about)} at its next step, +${formatCount(pending.tokens)} tokens`
      }
      loaded={loaded.map(({ name }) => name)}
      cache={isReported && cache}
      lastAt={lastSeenAt(session)}
    />
  )
}

interface RowProps {
  readonly isChosen?: boolean
  readonly isWaiting?: boolean
  readonly title: ComponentChildren
  readonly knows: string
  readonly loaded: readonly string[]
  readonly cache?: ComponentChildren
  readonly lastAt: string | undefined
}

function Row({
  isChosen = false,
  isWaiting = false,
  title,
  knows,
  loaded,
  cache,
  lastAt,
}: RowProps): ComponentChildren {
  return (
    <tr class={isChosen ? 'chosen' : ''}>
      <th scope="row">{title}</th>
      <td data-l="Knows">
        <span class="sline">
          <Shape name={isWaiting ? 'wait' : 'live'} />
          {knows}
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
      <td data-l="Cache">{cache || <span class="m">not reported</span>}</td>
      <td data-l="Last step" class="m nw">
        {lastAt !== undefined && <Ago at={lastAt} />}
      </td>
    </tr>
  )
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
