import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { keyOfRow, type SkillRow } from 'skillstoke/client'
import { formatCount, formatTime, formatTokens, shortDigest } from './format.ts'
import { openRow, selectEnd, selectNext } from './selection.ts'
import { filter, rows, selectedPlace, selectedRow, visibleRows } from './store.ts'

/** Height of a row in pixels. The style sheet has the same value. */
const ROW_HEIGHT = 58
const MORE_ROWS = 8

/**
 * Renders the list. Renders only the rows near the visible part of the list, so that even a list of thousands of skills
 * is fast.
 */
export function SkillList(): ComponentChildren {
  return (
    <section class="list" aria-labelledby="list-title">
      <h2 id="list-title" class="hidden">
        Skills
      </h2>
      <div class="filter">
        <label for="filter" class="hidden">
          Filter the skills
        </label>
        <input
          id="filter"
          type="search"
          placeholder="Filter (press /)"
          value={filter.value}
          onInput={event => (filter.value = event.currentTarget.value)}
          onKeyDown={onFilterKey}
        />
        <span class="count" role="status">
          {formatCount(visibleRows.value.length)} of {formatCount(rows.value.length)}
        </span>
      </div>
      <Rows />
    </section>
  )
}

function Rows(): ComponentChildren {
  const list = useRef<HTMLDivElement>(null)
  const scrollTop = useSignal(0)
  const height = useSignal(800)
  const all = visibleRows.value
  const selectedIndex = all.findIndex(row => keyOfRow(row) === selectedPlace.value)

  useEffect(() => {
    const element = list.current
    if (element === null) return undefined
    const observer = new ResizeObserver(() => (height.value = element.clientHeight))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  useEffect(() => {
    const element = list.current
    if (element === null || selectedIndex < 0) return
    const top = selectedIndex * ROW_HEIGHT
    if (top < element.scrollTop) element.scrollTop = top
    else if (top + ROW_HEIGHT > element.scrollTop + element.clientHeight)
      element.scrollTop = top + ROW_HEIGHT - element.clientHeight
  }, [selectedIndex])

  const first = Math.max(0, Math.floor(scrollTop.value / ROW_HEIGHT) - MORE_ROWS)
  const last = Math.min(all.length, Math.ceil((scrollTop.value + height.value) / ROW_HEIGHT) + MORE_ROWS)
  const isActiveShown = selectedIndex >= first && selectedIndex < last
  return (
    <div
      ref={list}
      class="rows"
      role="listbox"
      aria-label="Skills"
      tabIndex={0}
      aria-activedescendant={isActiveShown ? `row-${selectedIndex}` : undefined}
      onScroll={event => (scrollTop.value = event.currentTarget.scrollTop)}
      onKeyDown={onListKey}
    >
      <div role="presentation" class="spacer" style={{ height: `${all.length * ROW_HEIGHT}px` }}>
        {all.slice(first, last).map((row, offset) => (
          <Row
            key={keyOfRow(row)}
            row={row}
            index={first + offset}
            total={all.length}
            isSelected={first + offset === selectedIndex}
          />
        ))}
      </div>
      {all.length === 0 && <NoRows />}
    </div>
  )
}

interface RowProps {
  readonly row: SkillRow
  readonly index: number
  readonly total: number
  readonly isSelected: boolean
}

function Row({ row, index, total, isSelected }: RowProps): ComponentChildren {
  const { name, status, visibility, serving, tokens, usage, description, diagnostics } = row
  const fault = diagnostics.find(each => each.severity === 'error')?.message
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list handles the keys for its options
    // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus, as a listbox does
    <div
      id={`row-${index}`}
      class={`row ${status}`}
      role="option"
      aria-selected={isSelected}
      aria-setsize={total}
      aria-posinset={index + 1}
      style={{ top: `${index * ROW_HEIGHT}px` }}
      onClick={() => openRow(row)}
    >
      <span class={`badge ${status}`}>{status}</span>
      <span class="name">{name}</span>
      <code class="revision" title={serving ?? 'no revision is served'}>
        {serving === null ? 'not served' : shortDigest(serving)}
      </code>
      <span class="tokens" title="tokens listed in the catalog + tokens of the instructions (estimated)">
        {tokens === null ? '–' : formatTokens(tokens, visibility)}
      </span>
      <span class="used" title="last use since the server started">
        {usage === null ? '' : `used ${formatTime(usage.lastAt)}`}
      </span>
      <span class="description">{fault ?? description}</span>
    </div>
  )
}

function NoRows(): ComponentChildren {
  return (
    <p class="empty">
      {rows.value.length === 0
        ? 'No skills yet. Create a folder with a SKILL.md in one of the roots.'
        : 'No skill matches the filter.'}
    </p>
  )
}

function onListKey(event: KeyboardEvent): void {
  if (event.key === 'ArrowDown') selectNext(1)
  else if (event.key === 'ArrowUp') selectNext(-1)
  else if (event.key === 'Home') selectEnd('first')
  else if (event.key === 'End') selectEnd('last')
  else if (event.key === 'Enter' && selectedRow.value !== undefined) openRow(selectedRow.value)
  else return
  event.preventDefault()
}

function onFilterKey(event: KeyboardEvent): void {
  const visible = visibleRows.value
  const wanted = visible.find(row => row === selectedRow.value) ?? visible[0]
  if (event.key === 'ArrowDown') selectNext(1)
  else if (event.key === 'Enter' && wanted !== undefined) openRow(wanted)
  else return
  event.preventDefault()
}
