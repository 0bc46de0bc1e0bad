import type { ComponentChildren } from 'preact'
import type { SkillRow } from 'skillstoke/client'
import { type ClientGroup, countPending, groups, listNames, listPending, STEP } from '../client-groups.ts'
import { Card } from '../parts/card.tsx'
import { ChangeButton } from '../parts/change-button.tsx'
import { formatCount, plural } from '../parts/format.ts'
import { Icon, Shape } from '../parts/icons.tsx'
import { Ago, formatMoment } from '../parts/time.tsx'
import { toHash, toSkill } from '../route.ts'
import { openEditor } from '../skill/actions.tsx'
import { isOwn, lostAt, placeOf, rows, sessions, status, timeline } from '../store.ts'
import { keyOf, toDo } from '../to-do.ts'
import { changeItems } from './change-items.ts'
import { ChangeLine } from './change-line.tsx'
import { SourceList } from './source-list.tsx'
import { ToDoLine } from './to-do-line.tsx'

const MAX_CHANGES = 6
const MAX_TO_DO = 12
const MAX_CLIENTS = 6

/** What needs the person, and what happened. */
export function Overview(): ComponentChildren {
  const { value: lost } = lostAt
  const { length } = toDo.value
  const needed = length === 0 ? 'Nothing needs you' : plural(length, 'thing needs you', 'things need you')
  return (
    <main class="page" id="main" tabIndex={-1}>
      <h1>{lost === undefined ? needed : `As of ${formatMoment(lost)}`}</h1>
      <p class="lead">{lost === undefined ? <Lead /> : STOPPED}</p>
      <div class="cols">
        <div class="stack">
          {length === 0 ? <Calm /> : <NeedsAttention />}
          <LastChanges />
        </div>
        <div class="stack">
          <Catalog />
          <Agents />
          <Card look="flat o5" title="Where skills come from">
            <SourceList />
          </Card>
        </div>
      </div>
    </main>
  )
}

const STOPPED =
  'You can read and copy everything. Buttons that change something wait until the server is back.'

function Lead(): ComponentChildren {
  const [last] = timeline.value
  const { length } = groups.value
  return (
    <>
      {plural(rows.value.length, 'skill')}.{' '}
      {plural(length, 'agent or client follows', 'agents and clients follow')} along.{' '}
      {last !== undefined && 'Last change '}
      {last !== undefined && <Ago at={last.at} />}
    </>
  )
}

function NeedsAttention(): ComponentChildren {
  const more = toDo.value.length - MAX_TO_DO
  return (
    <Card look="o1" title="Needs attention" side={<span class="r m">most urgent first</span>}>
      <ul class="todo">
        {toDo.value.slice(0, MAX_TO_DO).map(item => (
          <ToDoLine key={keyOf(item)} item={item} />
        ))}
      </ul>
      {more > 0 && (
        <a class="more-of" href={toHash({ view: 'skills', query: { show: 'attention' } })}>
          {formatCount(more)} more
        </a>
      )}
    </Card>
  )
}

/** Suggests an edit, so that a person sees what the product does. */
function Calm(): ComponentChildren {
  const row = rows.value.find(each => isOwn(each) && each.serving !== null)
  if (row === undefined)
    return (
      <Card look="calm o1" title="Create the first skill">
        <p class="m">
          Press <kbd>c</kbd>, or save a folder with a SKILL.md in one of the roots.
        </p>
      </Card>
    )
  return (
    <Card look="calm o1" title="Try it: change a sentence and save">
      <p class="m">
        The agents that run have it at their next step, which is the next request to the model. Their prompt
        cache still matches, so the step is cheap.
      </p>
      <div class="cmd">
        <code>{placeOf(row)}/SKILL.md</code>
        <ChangeButton class="btn sm bare" onClick={() => openEditor(row)}>
          <Icon name="external" />
          Open in editor
        </ChangeButton>
      </div>
    </Card>
  )
}

function LastChanges(): ComponentChildren {
  const items = changeItems.value
  const all = items.length > 0 && <a href={toHash({ view: 'changes' })}>All changes</a>
  return (
    <Card look="flat o3" title="Last changes" side={all}>
      {items.length === 0 && <p class="s m none">Nothing has changed since the server started.</p>}
      <ul class="log">
        {items.slice(0, MAX_CHANGES).map(item => (
          <ChangeLine key={item.key} item={item} />
        ))}
      </ul>
    </Card>
  )
}

function costOf({ tokens }: SkillRow): number {
  return tokens?.listed ?? 0
}

function sumOf(skills: readonly SkillRow[]): number {
  return skills.reduce((sum, row) => sum + costOf(row), 0)
}

/** Narrower pieces of the bar cannot be told apart. */
const MAX_PIECES = 60

/** The budget of the catalog as a bar, with a piece for each skill. */
function Catalog(): ComponentChildren {
  const catalog = status.value?.catalog
  if (catalog === undefined) return null
  const { tokens, maxTokens, listed, unlisted, hidden, isEstimate } = catalog
  const served = rows.value
    .filter(row => row.tokens !== null && row.serving !== null)
    .toSorted((a, b) => costOf(b) - costOf(a))
  const shown = served.filter(({ visibility }) => visibility === 'listed')
  const over = served.filter(({ visibility }) => visibility === 'unlisted')
  const needed = sumOf(over)
  const rest = sumOf(shown.slice(MAX_PIECES))
  // The bar is at most twice as long as the limit.
  const beyond = Math.min(needed, maxTokens)
  const left = Math.max(0, maxTokens - tokens)
  const need = needed === 0 ? '' : `need ${formatCount(Math.max(0, needed - left))} more tokens`
  const largest = shown.slice(0, 2).map(row => `${row.name} ${costOf(row)}`)
  const legend = [
    ['live', '', listed, 'listed', '', `${formatCount(left)} tokens left`],
    ['unlisted', 'unlisted', unlisted, 'unlisted', 'searchable', need],
    ['hidden', 'hidden', hidden, 'hidden', 'people invoke them', '0 tokens'],
  ] as const
  return (
    <Card look="o2" title="Catalog">
      <p class="fig">
        <b>{formatCount(tokens)}</b>{' '}
        <span class="s m">
          of {formatCount(maxTokens)} tokens in each conversation{isEstimate && ', estimated'}
        </span>
      </p>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms */}
      <div
        class="budget"
        role="group"
        aria-label={`${plural(listed, 'skill')} listed, ${formatCount(tokens)} of ${formatCount(maxTokens)} tokens; ${formatCount(unlisted)} do not fit`}
      >
        {shown.slice(0, MAX_PIECES).map(toPiece)}
        {rest > 0 && <i class="rest" style={{ flex: String(rest) }} />}
        <i style={{ flex: String(left) }} />
        {needed > beyond ? <i class="un" style={{ flex: String(beyond) }} /> : over.map(toPiece)}
        {over.length > 0 && (
          <span class="cutline" style={{ left: `${(100 * maxTokens) / (maxTokens + beyond)}%` }}>
            <span>limit {formatCount(maxTokens)}</span>
          </span>
        )}
      </div>
      {largest.length > 0 && <p class="largest">Largest: {largest.join(', ')}</p>}
      <ul class="legend">
        {legend.map(([shape, show, count, word, what, cost]) => (
          <li key={shape}>
            <a href={toHash({ view: 'skills', query: show === '' ? {} : { show } })}>
              <Shape name={shape} />
              <span>
                {formatCount(count)} {word} <span class="m">{what}</span>
              </span>
              <span class="m">{cost}</span>
            </a>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function toPiece(row: SkillRow): ComponentChildren {
  const { name, target, visibility } = row
  const isOver = visibility === 'unlisted'
  return (
    // biome-ignore lint/a11y/useAnchorContent: only a pointer needs it; the group and the legend say the same
    <a
      key={target}
      class={isOver ? 'piece un' : 'piece'}
      style={{ flex: costOf(row) }}
      title={`${name}: ${isOver ? 'needs ' : ''}${formatCount(costOf(row))} tokens`}
      href={toSkill(target)}
      tabIndex={-1}
      aria-hidden
    />
  )
}

function Agents(): ComponentChildren {
  const all = groups.value
  return (
    <Card look="flat o4" title="Agents and clients" side={<a href={toHash({ view: 'agents' })}>All</a>}>
      {all.length === 0 && (
        <p class="s m none">
          No agent is connected. <code>stoke mcp install</code> connects an MCP client.
        </p>
      )}
      {countPending(sessions.value) > 0 && <p class="s m none">{STEP}</p>}
      <ul class="who">
        {all.slice(0, MAX_CLIENTS).map(group => (
          <li key={group.key}>
            <Shape name={lostAt.value === undefined ? 'live' : 'quiet'} />
            <div>
              <b>{group.name}</b> <span class="m">{group.version}</span>
              <br />
              {describeGroup(group)}
            </div>
            {group.lastAt !== undefined && <Ago at={group.lastAt} />}
          </li>
        ))}
      </ul>
    </Card>
  )
}

/** Says what the conversations of a client know. */
function describeGroup({ sessions: own, loaded }: ClientGroup): string {
  const has = loaded.length === 0 ? '' : `; has ${listNames(loaded)} loaded`
  const about = listPending(own)
  const pending = countPending(own)
  if (own.length === 0) return `Reads fresh text at each request${has}`
  if (own.length === 1)
    return pending === 0 ? `Up to date${has}` : `Hears about ${about} at its next step${has}`
  const count = `${plural(own.length, 'conversation')}; `
  return pending === 0
    ? `${count}up to date${has}`
    : `${count}${pending} hear about ${about} at the next step`
}
