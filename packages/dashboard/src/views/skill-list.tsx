import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { SkillRow } from 'skillstoke/client'
import { ChangeButton } from '../parts/change-button.tsx'
import { Chips } from '../parts/chips.tsx'
import { formatShort, plural } from '../parts/format.ts'
import { Icon, Shape } from '../parts/icons.tsx'
import { openDialog } from '../parts/overlay.tsx'
import { chosenIn, filterBy, route, toSkill } from '../route.ts'
import { stateOf } from '../skill-state.ts'
import { rows } from '../store.ts'
import { FILTERS, listItems, ORDERS } from './visible-rows.ts'

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
  const [order, [words]] = chosenIn(ORDERS, 'sort')
  return (
    <div class="head">
      <div class="bar-x">
        <input
          id="filter"
          class="field grow"
          aria-label="Filter skills"
          placeholder={`Filter ${plural(rows.value.length, 'skill')}`}
          value={route.value.query['q'] ?? ''}
          onInput={event => filterBy({ q: event.currentTarget.value })}
        />
        <label class="btn icon order" title={`Sort: ${words}`}>
          <Icon name="sort" />
          <select
            aria-label="Sort"
            value={order}
            onChange={event => filterBy({ sort: event.currentTarget.value })}
          >
            {Object.entries(ORDERS).map(([name, [each]]) => (
              <option key={name} value={name}>
                {each}
              </option>
            ))}
          </select>
        </label>
        <ChangeButton
          class="btn icon"
          label="New skill"
          title="New skill (C)"
          onClick={() => (openDialog.value = 'new-skill')}
        >
          <Icon name="plus" />
        </ChangeButton>
      </div>
      <Chips filters={FILTERS} items={rows.value} />
    </div>
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
  // The top of each line, and at the end the height of all.
  const tops = [0]
  for (const item of items) tops.push((tops.at(-1) ?? 0) + ('row' in item ? rowHeight.value : TITLE_HEIGHT))
  const selectedIndex = items.findIndex(item => 'row' in item && item.row === selected)
  useLayoutEffect(() => {
    const element = box.current
    const at = tops[selectedIndex]
    if (element === null || at === undefined) return
    const least = at + rowHeight.value - element.clientHeight
    element.scrollTop = Math.max(least, Math.min(element.scrollTop, at - TITLE_HEIGHT))
  }, [selected?.target])

  const lineAt = (y: number): number => tops.findLastIndex(each => each <= y)
  const from = Math.max(0, lineAt(top.value) - MARGIN)
  return (
    <nav
      ref={box}
      class="rows"
      aria-label="Skills"
      onScroll={event => (top.value = event.currentTarget.scrollTop)}
    >
      <ul class="spacer" style={{ height: `${tops.at(-1)}px` }}>
        {items.slice(from, lineAt(top.value + height.value) + MARGIN).map((item, index) => (
          <li
            key={'row' in item ? item.row.target : item.title}
            style={{ top: `${tops[from + index]}px` }}
            aria-setsize={items.length}
            aria-posinset={from + index + 1}
          >
            {'row' in item ? (
              <Row row={item.row} isSelected={item.row === selected} />
            ) : (
              <h2>
                {item.title} <span>{item.count}</span>
              </h2>
            )}
          </li>
        ))}
      </ul>
      {items.length === 0 && (
        <p class="s m none">{rows.value.length === 0 ? 'No skills yet.' : 'No skill matches the filter.'}</p>
      )}
    </nav>
  )
}

function Row({
  row,
  isSelected,
}: {
  readonly row: SkillRow
  readonly isSelected: boolean
}): ComponentChildren {
  const { shape, word, phrase } = stateOf(row)
  return (
    <a class="row" href={toSkill(row.target)} aria-current={isSelected ? 'page' : undefined} title={phrase}>
      <Shape name={shape} />
      <span class="cut">{row.name}</span>
      {word !== '' && <span class="w">{word}</span>}
      <span class="k" title="Tokens of its text, which the model reads when it loads the skill">
        {row.tokens !== null && formatShort(row.tokens.body)}
      </span>
    </a>
  )
}

const WIDTHS = { least: 240, most: 560, step: 20 }
const KEY = 'skillstoke-list-width'

/** Changes the width of the list, by dragging or with the arrow keys. */
function Grip(): ComponentChildren {
  const width = useSignal(Number(localStorage.getItem(KEY)) || 340)
  const resize = (wanted: number): void => {
    width.value = Math.min(WIDTHS.most, Math.max(WIDTHS.least, Math.round(wanted)))
    localStorage.setItem(KEY, String(width.value))
    document.documentElement.style.setProperty('--list', `${width.value}px`)
  }
  useLayoutEffect(() => {
    if (localStorage.getItem(KEY) !== null) resize(width.value)
  }, [])
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
        const step = { ArrowLeft: -WIDTHS.step, ArrowRight: WIDTHS.step }[event.key]
        if (step === undefined) return
        resize(width.value + step)
        event.preventDefault()
      }}
      onPointerDown={event => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={event => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) resize(event.clientX)
      }}
    />
  )
}
