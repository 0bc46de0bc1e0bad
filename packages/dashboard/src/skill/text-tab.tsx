import { useSignal } from '@preact/signals'
import { type ComponentChildren, render } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { Finding, SkillDetail, SkillRow } from 'skillstoke/client'
import { client } from '../client.ts'
import { bindKeys } from '../keyboard.ts'
import { ChangeButton } from '../parts/change-button.tsx'
import { describeFailure } from '../parts/describe-failure.ts'
import { formatCount, plural } from '../parts/format.ts'
import { Shape } from '../parts/icons.tsx'
import { act, isBusy, show } from '../parts/overlay.tsx'
import { formatMoment } from '../parts/time.tsx'
import { go, route } from '../route.ts'
import { stateOf } from '../skill-state.ts'
import { isOwn } from '../store.ts'
import { findLive, type HistoryRecord } from './author.ts'
import { drafts, keepDraft } from './drafts.tsx'
import type { TextEditor } from './editor.ts'
import { findingsOf, fix, isAboutText, newestText } from './fixes.ts'
import { Markdown } from './lazy-markdown.tsx'
import { SourceText } from './source-text.tsx'

interface TextTabProps {
  readonly row: SkillRow
  readonly detail: SkillDetail
  readonly records: readonly HistoryRecord[]
}

/** The source with its findings, and beside it what agents read. */
export function TextTab({ row, detail, records }: TextTabProps): ComponentChildren {
  const shown = useSignal<'both' | 'source' | 'rendered'>('both')
  const isEditing = useSignal(drafts.value.has(row.target))
  // Line numbers of the findings belong to the newest text.
  const isNewest = detail.refusedText !== null || detail.revision === row.revision
  const findings = isNewest ? findingsOf(row).filter(each => isAboutText(each, row)) : []
  const others = isNewest ? findingsOf(row).filter(each => !isAboutText(each, row)) : []
  const text = newestText(detail)
  const mayEdit = text !== null && isOwn(row) && hasOneLineEnd(text)
  // An open editor stays, whatever arrives.
  const mayBegin = mayEdit && isNewest
  useLayoutEffect(() => bindKeys(mayBegin ? { e: () => (isEditing.value = true) } : {}), [mayBegin])
  return (
    <>
      <div class="bar-x">
        <div class="seg">
          {(['both', 'source', 'rendered'] as const).map(each => (
            <button
              key={each}
              type="button"
              class={each}
              aria-pressed={shown.value === each}
              onClick={() => (shown.value = each)}
            >
              {{ both: 'Both', source: 'Source', rendered: 'Rendered' }[each]}
            </button>
          ))}
        </div>
        <span class="s m">{countFindings(findings)}</span>
      </div>
      {others.length > 0 && (
        <ul class="card others">
          {others.map((each, index) => (
            <li key={index}>
              <FindingText finding={each} place={each.path} />
            </li>
          ))}
        </ul>
      )}
      <div class={`split ${shown.value}`}>
        {shown.value !== 'rendered' &&
          (mayEdit && isEditing.value ? (
            <Editing row={row} text={text} onDone={() => (isEditing.value = false)} />
          ) : (
            <Source
              row={row}
              detail={detail}
              findings={findings}
              onEdit={mayBegin ? () => (isEditing.value = true) : undefined}
            />
          ))}
        {shown.value !== 'source' && <Rendered row={row} detail={detail} records={records} />}
      </div>
    </>
  )
}

/** Whether all lines of a text end in the same way, so that the editor keeps its bytes. */
function hasOneLineEnd(text: string): boolean {
  return !/\r(?!\n)/.test(text) && (!text.includes('\r\n') || !/(?<!\r)\n/.test(text))
}

function countFindings(findings: readonly Finding[]): string {
  const problems = findings.filter(({ severity }) => severity !== 'info').length
  const hints = findings.length - problems
  return [
    ...(problems > 0 ? [plural(problems, 'problem')] : []),
    ...(hints > 0 ? [plural(hints, 'hint')] : []),
  ].join(', ')
}

interface SourceProps {
  readonly row: SkillRow
  readonly detail: SkillDetail
  readonly findings: readonly Finding[]
  readonly onEdit: (() => void) | undefined
}

function Source({ row, detail, findings, onEdit }: SourceProps): ComponentChildren {
  const text = newestText(detail)
  const note =
    detail.refusedText !== null
      ? 'the newest save, not live'
      : detail.revision === row.serving
        ? ''
        : 'not live'
  return (
    <div class="card">
      <header>
        <b>Source</b>
        <span class="m cut">{note}</span>
        {onEdit !== undefined && (
          <span class="r">
            <ChangeButton onClick={onEdit}>
              Edit <kbd>E</kbd>
            </ChangeButton>
          </span>
        )}
      </header>
      {text === null ? (
        <p class="s m none">The text cannot be shown.</p>
      ) : (
        <SourceText
          text={text}
          findings={findings}
          renderFinding={finding => (
            <FindingText finding={finding}>
              {finding.edit !== undefined && onEdit !== undefined && (
                <ChangeButton title={finding.edit.title} onClick={() => fix(row, finding)}>
                  Fix
                </ChangeButton>
              )}
            </FindingText>
          )}
        />
      )}
    </div>
  )
}

interface FindingTextProps {
  readonly finding: Finding
  readonly place?: string | undefined
  readonly children?: ComponentChildren
}

function FindingText({ finding, place, children }: FindingTextProps): ComponentChildren {
  const { severity, message, fix: advice, page, code } = finding
  const shape = severity === 'error' ? 'broken' : severity === 'warning' ? 'warn' : 'info'
  return (
    <div class={`finding f-${severity}`} role="note">
      <Shape name={shape} />
      <p>
        {place !== undefined && <b>{place} </b>}
        {message}.{advice !== undefined && ` To mend it, ${advice}.`}{' '}
        <a href={page} target="_blank" rel="noopener noreferrer" title={code}>
          Why
        </a>
      </p>
      {children}
    </div>
  )
}

/** Renders a finding into the editor, which has no parts of Preact. */
function renderFinding(place: HTMLElement, finding: Finding, onFix: () => void): void {
  const { edit } = finding
  render(
    <FindingText finding={finding}>
      {edit !== undefined && (
        <button type="button" class="btn sm" title={edit.title} onClick={onFix}>
          Fix
        </button>
      )}
    </FindingText>,
    place,
  )
}

interface EditingProps {
  readonly row: SkillRow
  /** The text on the disk. */
  readonly text: string
  readonly onDone: () => void
}

const PAUSE_MS = 250

/** Edits the SKILL.md in place. Checks the text after each pause in the typing. */
function Editing({ row, text, onDone }: EditingProps): ComponentChildren {
  const { target } = row
  const place = useRef<HTMLDivElement>(null)
  const editor = useRef<TextEditor | undefined>(undefined)
  const draft = drafts.value.get(target)
  const typed = useSignal(draft?.text ?? text)
  const found = useSignal<readonly Finding[]>(findingsOf(row).filter(each => isAboutText(each, row)))
  /** The text that the edit began with, or that was saved last. */
  const base = useRef(draft?.before ?? text)

  const keep = (): void => {
    const isSaved = typed.value === base.current
    keepDraft(target, isSaved ? undefined : { before: base.current, text: typed.value })
  }
  const save = (): void => {
    const [before, after] = [base.current, typed.value]
    if (isBusy.value || before === after) return
    act(async () => {
      const saved = await client.save(target, before, after)
      base.current = after
      keep()
      // What was typed in the meantime stays in the editor.
      if (typed.value === after) onDone()
      return {
        text: `Saved. ${row.name} is ${stateOf(saved).phrase}.`,
        undo: () => client.save(target, after, before),
      }
    })
  }
  const close = (): void => {
    keepDraft(target, undefined)
    onDone()
  }

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let isOpen = true
    const check = async (): Promise<void> => {
      const asked = typed.value
      try {
        const { findings } = await client.check(target, asked)
        if (!isOpen || asked !== typed.value) return
        found.value = findings.filter(each => isAboutText(each, row))
        editor.current?.show(found.value, asked)
      } catch (thrown) {
        show({ text: describeFailure(thrown), isFailure: true })
      }
    }
    const onType = (next: string): void => {
      typed.value = next
      keep()
      clearTimeout(timer)
      timer = setTimeout(() => void check(), PAUSE_MS)
    }
    void import('./editor.ts').then(({ openTextEditor }) => {
      if (!isOpen || place.current === null) return
      editor.current = openTextEditor(place.current, {
        text: typed.value,
        label: `SKILL.md of ${row.name}`,
        onType,
        onSave: () => save(),
        renderFinding,
      })
      void check()
    })
    return () => {
      isOpen = false
      clearTimeout(timer)
      editor.current?.close()
    }
  }, [])

  const errors = found.value.filter(({ severity }) => severity === 'error')
  const isChanged = typed.value !== base.current
  const state =
    errors[0] === undefined
      ? countFindings(found.value) || 'No problems'
      : `Broken at line ${errors[0].line ?? 1}. Saving keeps the last good text live`
  return (
    <div class="card">
      <header>
        <b>Source</b>
        <span class="m cut">{isChanged ? 'not saved' : 'edit in place'}</span>
      </header>
      {base.current !== text && (
        <p class="note warn" role="status">
          <Shape name="warn" />
          <span>The file has changed on the disk since this edit began.</span>
          <button type="button" class="btn sm" onClick={close}>
            Drop my edit
          </button>
        </p>
      )}
      <div ref={place} class="editor" />
      <div class="foot stick">
        <span class="grow m">{state}.</span>
        <button type="button" class="btn sm bare" onClick={close}>
          {isChanged ? 'Undo edits' : 'Close'}
        </button>
        <ChangeButton class="btn sm primary" disabled={!isChanged} onClick={save}>
          Save <kbd>Ctrl S</kbd>
        </ChangeButton>
      </div>
    </div>
  )
}

interface RenderedProps {
  readonly row: SkillRow
  readonly detail: SkillDetail
  readonly records: readonly HistoryRecord[]
}

function Rendered({ row, detail, records }: RenderedProps): ComponentChildren {
  const { serving, tokens, visibility } = row
  const live = findLive(records, serving)
  const isLive = detail.revision !== null && detail.revision === serving
  const paths = new Set(detail.files.map(({ path }) => path))
  return (
    <div class="card prose-card">
      <header>
        <Shape name={isLive ? 'live' : 'quiet'} />
        <b>{isLive ? 'What agents read' : 'No agent reads this'}</b>
        <span class="m cut">
          {isLive && live !== undefined && `live since ${formatMoment(new Date(live.at))}`}
        </span>
      </header>
      {detail.body === null ? (
        <p class="s m none">There is no readable text.</p>
      ) : (
        <Markdown
          text={detail.body}
          paths={paths}
          onFile={path =>
            go({
              ...route.value,
              chosen: row.target,
              tab: 'files',
              query: { ...route.value.query, file: path },
            })
          }
        />
      )}
      {visibility === 'listed' && tokens !== null && (
        <div class="listed">
          <b>In the catalog</b>{' '}
          <span class="m">{formatCount(tokens.listed)} tokens, before it is loaded</span>
          <code>
            {row.name}: {row.description}
          </code>
        </div>
      )}
    </div>
  )
}
