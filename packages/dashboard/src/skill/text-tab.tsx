import { useSignal } from '@preact/signals'
import { type ComponentChildren, render } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { Finding, SkillDetail, SkillRow } from 'skillstoke/client'
import { client } from '../client.ts'
import { bindKeys } from '../keyboard.ts'
import { ChangeButton } from '../parts/change-button.tsx'
import { describeFailure } from '../parts/describe-failure.ts'
import { FileDifference } from '../parts/difference.tsx'
import { formatCount, plural } from '../parts/format.ts'
import { Shape } from '../parts/icons.tsx'
import { act, question, show } from '../parts/overlay.tsx'
import { formatMoment } from '../parts/time.tsx'
import { stateOf } from '../skill-state.ts'
import { isOwn } from '../store.ts'
import { findLive, type ShownSkill } from './author.ts'
import { type Draft, drafts, dropDraft, editDraft, isChanged } from './drafts.tsx'
import type { TextEditor } from './editor.ts'
import { findingsOf, fix, isAboutText, newestText } from './fixes.ts'
import { Markdown } from './lazy-markdown.tsx'
import { FindingText, SourceText } from './source-text.tsx'

/** The source with its findings, and beside it what agents read. */
export function TextTab({ row, detail, records }: ShownSkill): ComponentChildren {
  const shown = useSignal<'both' | 'source' | 'rendered'>('both')
  const draft = drafts.value.get(row.target)
  // Line numbers of the findings belong to the newest text.
  const isNewest = detail.refusedText !== null || detail.revision === row.revision
  const { here: findings = [], elsewhere: others = [] } = Object.groupBy(
    isNewest ? findingsOf(row) : [],
    each => (isAboutText(each, row) ? 'here' : 'elsewhere'),
  )
  const text = newestText(detail)
  const mayEdit = text !== null && isOwn(row) && hasOneLineEnd(text)
  const mayBegin = mayEdit && isNewest && draft === undefined
  const edit = mayBegin ? () => editDraft(row.target, { before: text, text }) : undefined
  useLayoutEffect(() => bindKeys(edit ? { e: edit } : {}))
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
          // An open editor stays, whatever arrives.
          (draft !== undefined && (mayEdit || isChanged(draft)) ? (
            <Editing row={row} text={text ?? draft.before} draft={draft} findings={findings} />
          ) : (
            <Source row={row} detail={detail} findings={findings} onEdit={edit} />
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
  const counts = [problems > 0 && plural(problems, 'problem'), hints > 0 && plural(hints, 'hint')]
  return counts.filter(Boolean).join(', ')
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
        <SourceText text={text} findings={findings} onFix={onEdit && (finding => fix(row, finding))} />
      )}
    </div>
  )
}

interface EditingProps {
  readonly row: SkillRow
  /** The text on the disk. */
  readonly text: string
  readonly draft: Draft
  /** Findings in the text on the disk. */
  readonly findings: readonly Finding[]
}

const PAUSE_MS = 250

/** Edits the SKILL.md in place. Checks the text after each pause in the typing. */
function Editing({ row, text, draft, findings }: EditingProps): ComponentChildren {
  const { target, name } = row
  const place = useRef<HTMLDivElement>(null)
  const last = useRef(draft)
  last.current = draft
  const found = useSignal(findings)
  const close = (): void => dropDraft(target)
  const save = (): void => {
    const { before, text: after } = drafts.value.get(target) ?? draft
    if (before === after) return
    act(async () => {
      const saved = await client.save(target, before, after)
      // What was typed in the meantime stays in the editor.
      if (drafts.value.get(target)?.text === after) close()
      else if (drafts.value.has(target)) editDraft(target, { before: after })
      return {
        text: `Saved. ${name} is ${stateOf(saved).phrase}.`,
        undo: () => client.save(target, after, before),
      }
    })
  }

  const drop = (): void => {
    close()
    show({ text: 'Dropped your edit.', undo: () => Promise.resolve(editDraft(target, draft)) })
  }
  const askSave = (): void => {
    const mine = drafts.value.get(target)?.text ?? draft.text
    question.value = {
      title: `Replace the newer text of ${name}?`,
      text: 'This takes away what was saved since your edit began.',
      preview: <FileDifference texts={{ path: 'SKILL.md', before: text, after: mine }} />,
      confirm: 'Keep mine',
      isDangerous: true,
      run: async () => {
        await client.save(target, text, mine)
        close()
        return { text: `Saved ${name}.`, undo: () => client.save(target, mine, text) }
      },
    }
  }

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let editor: TextEditor | undefined
    let isOpen = true
    const check = async (asked: string): Promise<void> => {
      try {
        const { findings } = await client.check(target, asked)
        if (!isOpen || asked !== drafts.value.get(target)?.text) return
        found.value = findings.filter(each => isAboutText(each, row))
        editor?.show(found.value, asked)
      } catch (thrown) {
        show({ text: describeFailure(thrown), isFailure: true })
      }
    }
    const onType = (typed: string): void => {
      editDraft(target, { text: typed })
      clearTimeout(timer)
      timer = setTimeout(() => void check(typed), PAUSE_MS)
    }
    void import('./editor.ts').then(({ openTextEditor }) => {
      if (!isOpen || place.current === null) return
      editor = openTextEditor(place.current, {
        text: draft.text,
        label: `SKILL.md of ${name}`,
        onType,
        onSave: save,
        renderFinding: (at, finding, onFix) => render(<FindingText finding={finding} onFix={onFix} />, at),
      })
      void check(draft.text)
    })
    return () => {
      isOpen = false
      clearTimeout(timer)
      editor?.close()
      // The cleanup comes late, when the person may have begun another edit.
      if (!isChanged(last.current) && drafts.value.get(target) === last.current) close()
    }
  }, [])

  const error = found.value.find(({ severity }) => severity === 'error')
  const state =
    error === undefined
      ? countFindings(found.value) || 'No problems'
      : `Broken at line ${error.line ?? 1}. Saving keeps the last good text live`
  return (
    <div class="card">
      <header>
        <b>Source</b>
        <span class="m cut">{isChanged(draft) ? 'not saved' : 'edit in place'}</span>
      </header>
      {draft.before !== text && (
        <p class="note warn" role="status">
          <Shape name="warn" />
          <span>The file has changed on the disk since this edit began.</span>
          <button type="button" class="btn sm" onClick={drop}>
            Drop my edit
          </button>
          <ChangeButton onClick={askSave}>Keep mine…</ChangeButton>
        </p>
      )}
      <div ref={place} class="editor" />
      <div class="foot stick">
        <span class="grow m">{state}.</span>
        <button type="button" class="btn sm bare" onClick={close}>
          {isChanged(draft) ? 'Undo edits' : 'Close'}
        </button>
        <ChangeButton class="btn sm primary" disabled={!isChanged(draft)} onClick={save}>
          Save <kbd>Ctrl S</kbd>
        </ChangeButton>
      </div>
    </div>
  )
}

function Rendered({ row, detail, records }: ShownSkill): ComponentChildren {
  const { serving, tokens, visibility } = row
  const live = findLive(records, serving)
  const isLive = detail.revision !== null && detail.revision === serving
  return (
    <div class="card prose-card">
      <header>
        <Shape name={isLive ? 'live' : 'quiet'} />
        <b>{isLive ? 'What agents read' : 'No agent reads this'}</b>
        <span class="m cut">{isLive && live !== undefined && `live since ${formatMoment(live.at)}`}</span>
      </header>
      {detail.body === null ? (
        <p class="s m none">There is no readable text.</p>
      ) : (
        <Markdown text={detail.body} paths={detail.files.map(({ path }) => path)} />
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
