import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { SkillRow } from 'skillstoke/client'
import { ChangeButton } from '../parts/change-button.tsx'
import { Chips } from '../parts/chips.tsx'
import { formatShort, plural } from '../parts/format.ts'
import { Icon, Shape } from '../parts/icons.tsx'
import { filterBy, route, toSkill } from '../route.ts'
import { stateOf } from '../skill-state.ts'
import { rows } from '../store.ts'
import { isCreating } from './new-skill.tsx'
import {
  CHIPS,
  type Chip,
  chosenChip,
  chosenOrder,
  GROUP_TITLES,
  isInChip,
  type ListItem,
  listItems,
  ORDERS,
} from './visible-rows.ts'

interface SkillListProps {
  readonly selected: SkillRow | undefined
}

export function SkillList({ selected }: SkillListProps): ComponentChildren {
  return (
    <section class="list" aria-label="List of skills">
      <h1 class="sr list-title">Skills</h1>
      <Head />
      <Rows selected={selected} />
      <Grip />
    </section>
  )
}

function Head(): ComponentChildren {
  const { q = '' } = route.value.query
  const total = rows.value.length
  const chips = (Object.keys(CHIPS) as Chip[]).map(
    chip => [chip, CHIPS[chip], rows.value.filter(row => isInChip(row, chip)).length] as const,
  )
  return (
    <div class="head">
      <div class="bar-x">
        <input
          id="filter"
          class="field grow"
          aria-label="Filter skills"
          placeholder={`Filter ${plural(total, 'skill')}`}
          value={q}
          onInput={event => filterBy({ q: event.currentTarget.value })}
        />
        <Order />
        <ChangeButton
          class="btn icon"
          label="New skill"
          title="New skill (C)"
          onClick={() => (isCreating.value = true)}
        >
          <Icon name="plus" />
        </ChangeButton>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset cannot scroll sideways */}
      <div class="chips" role="group" aria-label="Show">
        <Chips chips={[['', 'All', total], ...chips]} chosen={chosenChip() ?? ''} />
      </div>
    </div>
  )
}

function Order(): ComponentChildren {
  const order = chosenOrder()
  return (
    <label class="btn icon order" title={`Sort: ${ORDERS[order]}`}>
      <Icon name="sort" />
      <select
        aria-label="Sort"
        value={order}
        onChange={event => {
          const { value } = event.currentTarget
          filterBy({ sort: value === 'attention' ? '' : value })
        }}
      >
        {Object.entries(ORDERS).map(([name, words]) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
      </select>
    </label>
  )
}

const TITLE_HEIGHT = 32
/** Lines above and below the visible part, so that fast scrolling shows no gap. */
const MARGIN = 12

/** Renders only the visible lines, because there may be thousands. Every line has a fixed height. */
function Rows({ selected }: SkillListProps): ComponentChildren {
  const box = useRef<HTMLElement>(null)
  const top = useSignal(0)
  const height = useSignal(800)
  const rowHeight = useSignal(36)
  useEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const observer = new ResizeObserver(() => {
      height.value = element.clientHeight
      rowHeight.value = Number.parseFloat(getComputedStyle(element).getPropertyValue('--row')) || 36
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  const items = listItems.value
  const tops = placeItems(items, rowHeight.value)
  const selectedIndex = items.findIndex(item => 'row' in item && item.row === selected)
  useLayoutEffect(() => {
    const element = box.current
    const at = tops[selectedIndex]
    if (element === null || at === undefined) return
    if (at < element.scrollTop + TITLE_HEIGHT) element.scrollTop = at - TITLE_HEIGHT
    else if (at + rowHeight.value > element.scrollTop + element.clientHeight)
      element.scrollTop = at + rowHeight.value - element.clientHeight
  }, [selected?.target])

  const from = Math.max(0, findAt(tops, top.value) - MARGIN)
  const to = findAt(tops, top.value + height.value) + MARGIN
  const total = rows.value.length
  return (
    <nav
      ref={box}
      class="rows"
      aria-label="Skills"
      onScroll={event => (top.value = event.currentTarget.scrollTop)}
    >
      <ul class="spacer" style={{ height: `${tops.at(-1) ?? 0}px` }}>
        {items.slice(from, to).map((item, index) => (
          <li
            key={'row' in item ? item.row.target : item.title}
            style={{ top: `${tops[from + index]}px` }}
            aria-setsize={items.length}
            aria-posinset={from + index + 1}
          >
            <Item item={item} isSelected={from + index === selectedIndex} />
          </li>
        ))}
      </ul>
      {items.length === 0 && (
        <p class="s m none">{total === 0 ? 'No skills yet.' : 'No skill matches the filter.'}</p>
      )}
    </nav>
  )
}

/** Returns the top of each line, and at the end the height of all. */
function placeItems(items: readonly ListItem[], rowHeight: number): readonly number[] {
  let next = 0
  const tops = items.map(item => {
    const top = next
    next += 'row' in item ? rowHeight : TITLE_HEIGHT
    return top
  })
  return [...tops, next]
}

/** Returns the last line that begins above a height. */
function findAt(tops: readonly number[], height: number): number {
  let [low, high] = [0, tops.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((tops[middle] ?? 0) <= height) low = middle
    else high = middle - 1
  }
  return low
}

function Item({
  item,
  isSelected,
}: {
  readonly item: ListItem
  readonly isSelected: boolean
}): ComponentChildren {
  if ('title' in item)
    return (
      <h2>
        {GROUP_TITLES[item.title]} <span>{item.count}</span>
      </h2>
    )
  const { row } = item
  const { shape, word, phrase } = stateOf(row)
  return (
    <a class="row" href={toSkill(row.target)} aria-current={isSelected ? 'page' : undefined} title={phrase}>
      <Shape name={shape} />
      <span class="cut">{row.name}</span>
      {word !== '' && <span class="w">{word}</span>}
      <span class="k" title="tokens of its text">
        {row.tokens === null ? '' : formatShort(row.tokens.body)}
      </span>
    </a>
  )
}

const WIDTHS = { least: 240, most: 560, step: 20 }
const KEY = 'skillstoke-list-width'

/** Changes the width of the list, by dragging or with the arrow keys. */
function Grip(): ComponentChildren {
  const width = useSignal(Number(localStorage.getItem(KEY)) || 340)
  const isChosen = useSignal(localStorage.getItem(KEY) !== null)
  const resize = (wanted: number): void => {
    width.value = Math.min(WIDTHS.most, Math.max(WIDTHS.least, Math.round(wanted)))
    isChosen.value = true
    localStorage.setItem(KEY, String(width.value))
  }
  useLayoutEffect(() => {
    if (isChosen.value) document.documentElement.style.setProperty('--list', `${width.value}px`)
  }, [width.value, isChosen.value])
  return (
    // biome-ignore lint/a11y/useSemanticElements: a rule cannot be moved
    <div
      class="grip"
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the list"
      tabIndex={0}
      aria-valuenow={width.value}
      aria-valuemin={WIDTHS.least}
      aria-valuemax={WIDTHS.most}
      onKeyDown={event => {
        if (event.key === 'ArrowLeft') resize(width.value - WIDTHS.step)
        else if (event.key === 'ArrowRight') resize(width.value + WIDTHS.step)
        else return
        event.preventDefault()
      }}
      onPointerDown={event => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={event => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) resize(event.clientX)
      }}
    />
  )
}
