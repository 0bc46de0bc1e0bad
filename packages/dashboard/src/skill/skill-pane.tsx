import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { SkillRow } from 'skillstoke/client'
import { client } from '../client.ts'
import { bindKeys } from '../keyboard.ts'
import { Answer } from '../parts/answer.tsx'
import { ChangeButton } from '../parts/change-button.tsx'
import { isSkillFile, plural } from '../parts/format.ts'
import { Icon, Shape } from '../parts/icons.tsx'
import { Ago, formatMoment } from '../parts/time.tsx'
import { loadedValue, useLoaded } from '../parts/use-loaded.ts'
import { go, route, SKILL_TABS, type SkillTab, toHash, toSkill } from '../route.ts'
import { describeStay, explainCost, stateOf } from '../skill-state.ts'
import { isOwn, placeOf } from '../store.ts'
import { askRestore, openEditor, SkillMenu } from './actions.tsx'
import { Approval, Offer } from './approval.tsx'
import { countChanges, findLive, nameAuthor, type ShownSkill } from './author.ts'
import { ChangesTab } from './changes-tab.tsx'
import { drafts } from './drafts.tsx'
import { FilesTab } from './files-tab.tsx'
import { findFix, findingsOf, fix, pathIn } from './fixes.ts'
import { TestsTab } from './tests-tab.tsx'
import { TextTab } from './text-tab.tsx'

interface PaneProps {
  readonly row: SkillRow
}

/** Renders one skill. A skill that waits for approval shows what would change, until a tab is chosen. */
export function SkillPane({ row }: PaneProps): ComponentChildren {
  const { tab = 'skill' } = route.value
  // Loads again after any change of the row, because the text or the findings may have changed.
  const version = JSON.stringify(row)
  const detail = useLoaded(() => client.skill(row.target), [row.target, version])
  const history = useLoaded(() => client.history(row.target), [row.target, version])
  const records = loadedValue(history)?.records ?? []

  useLayoutEffect(() => {
    const found = findFix(row)
    // A fix writes the file, and would make the draft older than the file.
    const mayFix = found !== undefined && !drafts.value.has(row.target)
    return bindKeys(mayFix ? { f: () => fix(row, found) } : {})
  })

  const isReview = row.status === 'pending' && route.value.tab === undefined
  return (
    <div class="in">
      <Title row={row}>{isReview ? <Offer row={row} records={records} /> : <Cost row={row} />}</Title>
      {isReview ? (
        <Approval row={row} unreported={loadedValue(detail)?.unreported ?? []} />
      ) : (
        <Answer of={detail}>
          {value => (
            <>
              <StateNote row={row} detail={value} records={records} />
              <Tabs row={row} tab={tab} changes={countChanges(records)} files={value.files.length} />
              <section class="panel" role="tabpanel" id={`p-${tab}`} aria-labelledby={`t-${tab}`}>
                {tab === 'skill' && <TextTab row={row} detail={value} records={records} />}
                {tab === 'tests' && <TestsTab row={row} version={version} />}
                {tab === 'changes' && <ChangesTab row={row} records={records} detail={value} />}
                {tab === 'files' && <FilesTab row={row} detail={value} version={version} />}
              </section>
            </>
          )}
        </Answer>
      )}
    </div>
  )
}

/** Renders the way back to the list, the name, the state and the actions of a skill. The children are the line below. */
function Title({ row, children }: PaneProps & { readonly children: ComponentChildren }): ComponentChildren {
  const { shape, word, phrase } = stateOf(row)
  const { tab, chosen, query } = route.value
  const heading = useRef<HTMLHeadingElement>(null)
  const isWaiting = row.status === 'pending'
  useLayoutEffect(() => {
    // The list is gone in a narrow window, and the focus with it.
    if (matchMedia('(max-width: 720px)').matches && chosen !== undefined) heading.current?.focus()
  }, [])
  return (
    <>
      <a class="back" href={toHash({ view: 'skills', query })}>
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
            {isWaiting && (row.serving !== null || tab !== undefined) && (
              <a class="btn opt" href={toSkill(row.target, tab === undefined ? 'skill' : undefined)}>
                {tab === undefined ? 'See the live text' : 'Review the change'}
              </a>
            )}
            {!isWaiting && isOwn(row) && (
              <ChangeButton class="btn opt" onClick={() => openEditor(row)}>
                <Icon name="external" />
                Open in editor
              </ChangeButton>
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

/** Says what is wrong and what stays good, with the button that helps. */
function StateNote({ row, records, detail }: ShownSkill): ComponentChildren {
  const { status, serving, name } = row
  const live = findLive(records, serving)
  const when = live === undefined ? 'before it' : `of ${formatMoment(live.at)}`
  const stays = describeStay(serving, `The text ${when}`)
  if (status === 'broken') {
    const { path, line } = findingsOf(row).find(({ severity }) => severity === 'error') ?? {}
    const found = findFix(row)
    const file = path === undefined ? '' : pathIn(path, row)
    const place = line === undefined ? '' : ` at line ${line}`
    const other = file === '' || isSkillFile(file) ? '' : ` of ${file}`
    return (
      <Note look="broken" what={`The newest save is broken${place}${other}.`} text={stays}>
        {found !== undefined && (
          <ChangeButton class="btn sm primary" onClick={() => fix(row, found)}>
            Fix{found.line !== undefined && ` line ${found.line}`} <kbd>F</kbd>
          </ChangeButton>
        )}
        {live !== undefined && serving !== null && isOwn(row) && (
          <ChangeButton onClick={() => askRestore(row, serving, formatMoment(live.at))}>
            Go back to {formatMoment(live.at)}…
          </ChangeButton>
        )}
      </Note>
    )
  }
  if (status === 'pending')
    return (
      <Note
        look="wait"
        what="A newer text waits for approval."
        text="Until the decision, this is the live text."
      >
        <a class="btn sm" href={toSkill(row.target)}>
          Review
        </a>
      </Note>
    )
  if (status === 'rejected') {
    const note = records.find(({ cause }) => cause === 'reject')?.note
    const why = note === undefined ? '' : `: “${note}”`
    return <Note look="quiet" what={`The newest text of ${name} was rejected${why}.`} text={stays} />
  }
  if (status === 'pinned')
    return (
      <Note
        look="quiet"
        what={`${name} stays at this text.`}
        text="Newer texts are recorded, and not live."
      />
    )
  if (serving !== null) return null
  const disabled = status === 'disabled' ? records.find(({ cause }) => cause === 'disable') : undefined
  if (disabled !== undefined)
    return (
      <Note
        look="quiet"
        what={`No agent sees ${name}.`}
        text={`${nameAuthor(disabled)} disabled it ${formatMoment(disabled.at)}${disabled.note === undefined ? '' : `: “${disabled.note}”`}. The menu enables it again.`}
      />
    )
  const reason = detail.explanation.steps.find(({ ok }) => !ok)?.detail
  return (
    <Note look="quiet" what={`No agent sees ${name}.`} text={reason === undefined ? '' : sentence(reason)} />
  )
}

interface NoteProps {
  readonly look: 'broken' | 'wait' | 'quiet'
  readonly what: string
  readonly text: string
  /** Buttons. */
  readonly children?: ComponentChildren
}

function Note({ look, what, text, children }: NoteProps): ComponentChildren {
  return (
    <div class={`note ${look}`} role="status">
      <Shape name={look} />
      <p>
        <strong>{what}</strong> {text}
      </p>
      {children !== undefined && <div class="bar-x">{children}</div>}
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
