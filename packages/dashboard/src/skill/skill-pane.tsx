import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { SkillDetail, SkillRow } from 'skillstoke/client'
import { client } from '../client.ts'
import { bindKeys } from '../keyboard.ts'
import { Answer } from '../parts/answer.tsx'
import { ChangeButton } from '../parts/change-button.tsx'
import { isSkillFile, plural } from '../parts/format.ts'
import { Icon, Shape } from '../parts/icons.tsx'
import { Ago, formatMoment } from '../parts/time.tsx'
import { loadedValue, useLoaded } from '../parts/use-loaded.ts'
import { go, route, SKILL_TABS, type SkillTab, toHash, toSkill } from '../route.ts'
import { explainCost, stateOf } from '../skill-state.ts'
import { isOwn, placeOf, sessions } from '../store.ts'
import { askRestore, openEditor, SkillMenu } from './actions.tsx'
import { Approval } from './approval.tsx'
import { findLive, type HistoryRecord } from './author.ts'
import { ChangesTab } from './changes-tab.tsx'
import { FilesTab } from './files-tab.tsx'
import { findFix, findingsOf, fix, pathIn } from './fixes.ts'
import { TestsTab } from './tests-tab.tsx'
import { TextTab } from './text-tab.tsx'

interface PaneProps {
  readonly row: SkillRow
}

/** Renders one skill. A skill that waits for approval shows what would change, until a tab is chosen. */
export function SkillPane({ row }: PaneProps): ComponentChildren {
  const { tab } = route.value
  const heading = useRef<HTMLHeadingElement>(null)
  // Loads again after any change of the row, because the text or the findings may have changed.
  const version = JSON.stringify(row)
  const detail = useLoaded(() => client.skill(row.target), [row.target, version])
  const history = useLoaded(() => client.history(row.target), [row.target, version])
  const records = loadedValue(history)?.records ?? []

  useLayoutEffect(() => {
    // The list is gone in a narrow window, and the focus with it.
    if (matchMedia('(max-width: 720px)').matches && route.value.chosen !== undefined) heading.current?.focus()
  }, [])
  useLayoutEffect(() => {
    const found = findFix(row)
    return bindKeys(found === undefined ? {} : { f: () => fix(row, found) })
  }, [version])

  if (row.status === 'pending' && tab === undefined)
    return <Approval row={row} heading={heading} records={records} />
  return (
    <div class="in">
      <Title row={row} heading={heading}>
        <Cost row={row} />
      </Title>
      <Answer of={detail}>
        {value => (
          <>
            <Note row={row} records={records} detail={value} />
            <Tabs row={row} tab={tab ?? 'skill'} changes={records.length} files={value.files.length} />
            <section
              class="panel"
              role="tabpanel"
              id={`p-${tab ?? 'skill'}`}
              aria-labelledby={`t-${tab ?? 'skill'}`}
            >
              {(tab ?? 'skill') === 'skill' && <TextTab row={row} detail={value} records={records} />}
              {tab === 'tests' && <TestsTab row={row} version={version} />}
              {tab === 'changes' && <ChangesTab row={row} records={records} detail={value} />}
              {tab === 'files' && <FilesTab row={row} detail={value} version={version} />}
            </section>
          </>
        )}
      </Answer>
    </div>
  )
}

interface TitleProps extends PaneProps {
  readonly heading: { readonly current: HTMLHeadingElement | null }
  readonly children: ComponentChildren
}

/** Renders the way back to the list, the name, the state and the actions of a skill. The children are the line below. */
export function Title({ row, heading, children }: TitleProps): ComponentChildren {
  const { shape, word, phrase } = stateOf(row)
  const isWaiting = row.status === 'pending'
  return (
    <>
      <a class="back" href={toHash({ view: 'skills', query: route.value.query })}>
        ‹ All skills
      </a>
      <div>
        <div class="title">
          <h1 tabIndex={-1} ref={heading}>
            {row.name}
          </h1>
          {word !== '' && (
            <span class={`badge b-${shape}`}>
              <Shape name={shape} />
              {isWaiting || shape === 'warn' ? phrase : word}
            </span>
          )}
          <div class="acts">
            {isWaiting && row.serving === null && route.value.tab === undefined ? null : isWaiting ? (
              <a
                class="btn opt"
                href={toSkill(row.target, route.value.tab === undefined ? 'skill' : undefined)}
              >
                {route.value.tab === undefined ? 'See the live text' : 'Review the change'}
              </a>
            ) : (
              isOwn(row) && (
                <ChangeButton class="btn opt" onClick={() => openEditor(row)}>
                  <Icon name="external" />
                  Open in editor
                </ChangeButton>
              )
            )}
            <SkillMenu row={row} />
          </div>
        </div>
        {children}
      </div>
    </>
  )
}

/** Says why a model sees the skill, or not, how often it was used, and where it is. */
function Cost({ row }: PaneProps): ComponentChildren {
  const { usage, serving, copies } = row
  return (
    <>
      {row.description !== '' && <p class="desc">{row.description}</p>}
      <p class="why">
        {serving !== null && `${explainCost(row)} `}
        {usage !== null && (
          <>
            Loaded {plural(usage.count, 'time')}, last <Ago at={usage.lastAt} />.{' '}
          </>
        )}
        From <code>{placeOf(row)}</code>.
        {copies.length > 0 && ` The same is in ${copies.map(placeOf).join(', ')}.`}
      </p>
    </>
  )
}

interface NoteProps extends PaneProps {
  readonly records: readonly HistoryRecord[]
  readonly detail: SkillDetail
}

/** Says what is wrong and what stays good, with the button that helps. */
function Note({ row, records, detail }: NoteProps): ComponentChildren {
  const { status, serving, name } = row
  const live = findLive(records, serving)
  const when = live === undefined ? 'before it' : `of ${formatMoment(new Date(live.at))}`
  const { length } = sessions.value
  const readers = length === 0 ? '' : ` for ${plural(length, 'conversation')}`
  const stays = serving === null ? 'Nothing is live.' : `The text ${when} stays live${readers}.`
  if (status === 'broken') {
    const finding = findingsOf(row).find(({ severity }) => severity === 'error')
    const found = findFix(row)
    const file = finding?.path === undefined ? '' : pathIn(finding.path, row)
    const place = finding?.line === undefined ? '' : ` at line ${finding.line}`
    const other = file === '' || isSkillFile(file) ? '' : ` of ${file}`
    return (
      <div class="note broken" role="status">
        <Shape name="broken" />
        <p>
          <strong>
            The newest save is broken{place}
            {other}.
          </strong>{' '}
          {stays}
        </p>
        <div class="bar-x">
          {found !== undefined && (
            <ChangeButton class="btn sm primary" onClick={() => fix(row, found)}>
              Fix{found.line !== undefined && ` line ${found.line}`} <kbd>F</kbd>
            </ChangeButton>
          )}
          {live?.revision !== undefined && isOwn(row) && (
            <ChangeButton
              onClick={() => askRestore(row, live.revision ?? '', formatMoment(new Date(live.at)))}
            >
              Go back to {formatMoment(new Date(live.at))}…
            </ChangeButton>
          )}
        </div>
      </div>
    )
  }
  const note = records.find(({ cause }) => cause === 'reject')?.note
  const rejection = note === undefined ? '' : `: “${note}”`
  const reason = detail.explanation.steps.find(({ ok }) => !ok)?.detail
  if (status === 'pending')
    return (
      <div class="note wait" role="status">
        <Shape name="wait" />
        <p>
          <strong>A newer text waits for approval.</strong> Until the decision, this is the live text.
        </p>
        <a class="btn sm" href={toSkill(row.target)}>
          Review
        </a>
      </div>
    )
  if (serving !== null && status !== 'rejected') return null
  return (
    <div class="note quiet" role="status">
      <Shape name="quiet" />
      <p>
        {status === 'rejected' ? (
          <>
            <strong>
              The newest text of {name} was rejected{rejection}.
            </strong>{' '}
            {stays}
          </>
        ) : (
          <>
            <strong>No agent sees {name}.</strong> {reason !== undefined && sentence(reason)}
          </>
        )}
      </p>
    </div>
  )
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

const TAB_TITLES: Readonly<Record<SkillTab, string>> = {
  skill: 'Skill',
  tests: 'Tests and try',
  changes: 'Changes',
  files: 'Files and scripts',
}

interface TabsProps extends PaneProps {
  readonly tab: SkillTab
  readonly changes: number
  readonly files: number
}

function Tabs({ row, tab, changes, files }: TabsProps): ComponentChildren {
  const counts: Readonly<Partial<Record<SkillTab, number>>> = { changes, files }
  const errors = findingsOf(row).filter(({ severity }) => severity === 'error').length
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = SKILL_TABS.indexOf(tab)
    const { length } = SKILL_TABS
    const to = { ArrowRight: at + 1, ArrowLeft: at + length - 1, Home: 0, End: length - 1 }[event.key]
    const next = to === undefined ? undefined : SKILL_TABS[to % length]
    if (next === undefined) return
    event.preventDefault()
    go({ ...route.value, chosen: row.target, tab: next })
    document.getElementById(`t-${next}`)?.focus()
  }
  return (
    <div class="tabs" role="tablist" aria-label={row.name} onKeyDown={onKeyDown}>
      {SKILL_TABS.map(each => (
        <a
          key={each}
          class="tab"
          role="tab"
          id={`t-${each}`}
          href={toSkill(row.target, each)}
          aria-controls={each === tab ? `p-${each}` : undefined}
          aria-selected={each === tab}
          tabIndex={each === tab ? 0 : -1}
        >
          {TAB_TITLES[each]}{' '}
          {each === 'skill' && errors > 0 && <span class="badge b-broken small">{errors}</span>}
          {(counts[each] ?? 0) > 0 && <span class="n">{counts[each]}</span>}
        </a>
      ))}
    </div>
  )
}
