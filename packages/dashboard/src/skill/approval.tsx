import { signal, useComputed } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { SkillDiff, SkillRow } from 'skillstoke/client'
import { ApiError } from 'skillstoke/client'
import { client } from '../client.ts'
import { bindKeys } from '../keyboard.ts'
import { Answer } from '../parts/answer.tsx'
import { ChangeButton } from '../parts/change-button.tsx'
import { compareFile, countLines } from '../parts/compare.ts'
import { FileDifference, LineCounts } from '../parts/difference.tsx'
import { plural } from '../parts/format.ts'
import { Icon, Shape } from '../parts/icons.tsx'
import { act, closeDialog, question, type Toast } from '../parts/overlay.tsx'
import { Ago } from '../parts/time.tsx'
import { loadedValue, useLoaded } from '../parts/use-loaded.ts'
import { go, route } from '../route.ts'
import { findRow, rows } from '../store.ts'
import { openNext } from '../views/visible-rows.ts'
import { describeReached } from './actions.tsx'
import { nameAuthor, type ShownSkill } from './author.ts'
import { findGrowth } from './growth.ts'

/** Says who offered the waiting text, and what stays live. */
export function Offer({ row, records }: Pick<ShownSkill, 'row' | 'records'>): ComponentChildren {
  const held = records.find(({ revision, event }) => revision === row.revision && event !== 'decided')
  return (
    <p class="why">
      {held !== undefined && (
        <>
          {nameAuthor(held)} changed it in {row.source} <Ago at={held.at} />
          {held.note !== undefined && ` with the note “${held.note}”`}.{' '}
        </>
      )}
      Until you decide, {row.serving === null ? 'no agent has it' : 'the text before it stays live'}.
    </p>
  )
}

interface ApprovalProps {
  readonly row: SkillRow
  /** Hidden text that only an approval looks for. */
  readonly unreported: SkillRow['diagnostics']
}

/** Renders a change that waits for approval: what it may do more than before, then each file, and the decision. */
export function Approval({ row, unreported }: ApprovalProps): ComponentChildren {
  const { target, revision } = row
  const loaded = useLoaded(() => client.diff(target), [target, revision, row.status])
  // A decision, here or elsewhere, ends the reading.
  const reading = [row.source, row.name, row.serving].join(' ')
  if (!begun.has(reading)) begun.set(reading, revision)
  const isNewer = begun.get(reading) !== revision
  const hidden = [...row.diagnostics, ...unreported].filter(({ code }) => code === 'HIDDEN_TEXT')
  const latest = loadedValue(loaded)
  const diff = latest?.to === revision ? latest : undefined
  return (
    <>
      {isNewer && (
        <p class="note warn" role="status">
          <Shape name="warn" />
          <span>A newer text has arrived since you opened this page. It is shown below.</span>
        </p>
      )}
      {diff === undefined && (
        <Answer of={loaded}>{() => <p class="m">Loading what would go live …</p>}</Answer>
      )}
      <Review key={revision} row={row} diff={diff} hidden={hidden} isNewer={isNewer} />
    </>
  )
}

interface ReviewProps {
  readonly row: SkillRow
  /** Absent while it loads. */
  readonly diff: SkillDiff | undefined
  readonly hidden: SkillRow['diagnostics']
  /** Whether this text arrived while the person read another one. */
  readonly isNewer: boolean
}

const NOTHING: ReadonlySet<string> = new Set()
/** The files that the person has seen, by skill and revision. */
const seenFiles = signal<ReadonlyMap<string, ReadonlySet<string>>>(new Map())
/** The revision of each change that the person began to read. */
const begun = new Map<string, string | null>()

/** A reason to ask before the approval. */
interface Doubt {
  readonly title: string
  readonly text: string
  readonly isHidden?: boolean
  /** Goes to the file in question. */
  readonly goToFile?: () => void
}

function Review({ row, diff, hidden, isNewer }: ReviewProps): ComponentChildren {
  const key = `${row.target} ${row.revision}`
  const seen = useComputed(() => seenFiles.value.get(key) ?? NOTHING)
  const at = useRef(0)
  const texts = diff?.texts ?? []
  const grown = diff === undefined ? [] : findGrowth(diff, hidden)
  // A text that everybody reads anyway is no capability, and hidden text is asked about in any case.
  const unseen = grown.find(({ path, icon }) => !/eye|text/.test(icon) && !seen.value.has(path))?.path
  const mark = (path: string, isSeen: boolean): void => {
    const others = [...seen.value].filter(each => each !== path)
    seenFiles.value = new Map(seenFiles.value).set(key, new Set(isSeen ? [...others, path] : others))
  }
  const goTo = (path: string | undefined): void => {
    at.current = Math.max(
      0,
      texts.findIndex(each => each.path === path),
    )
    const file = document.getElementById(`file-${at.current}`)
    file?.scrollIntoView({ block: 'start' })
    file?.focus({ preventScroll: true })
  }
  useLayoutEffect(() =>
    bindKeys({
      // Beyond the files, the keys move through the skills.
      j: () => {
        const path = texts[at.current]?.path
        const isLast = at.current === texts.length - 1
        if (path === undefined || (isLast && seen.value.has(path))) return openNext(1)
        mark(path, true)
        if (!isLast) goTo(texts[at.current + 1]?.path)
      },
      k: () => (at.current === 0 ? openNext(-1) : goTo(texts[at.current - 1]?.path)),
    }),
  )
  const doubts: Doubt[] = []
  const unread = grown.find(({ icon }) => icon === 'eye')
  if (unread !== undefined) doubts.push(doubtHidden(row, unread.why))
  if (isNewer)
    doubts.push({
      title: `A newer text of ${row.name} has arrived`,
      text: 'Approve it only if you have read the text that is shown now.',
    })
  if (unseen !== undefined)
    doubts.push({
      title: `You have not seen ${unseen}`,
      text: 'It can do more than before. Mark it as seen when you have read it.',
      goToFile: () => goTo(unseen),
    })
  return (
    <>
      {grown.length > 0 && (
        <section class="card grows" aria-labelledby="h-grown">
          <header>
            <Shape name="warn" />
            <h2 id="h-grown">
              If you approve, it can do {plural(grown.length, 'thing')} that it could not do before
            </h2>
          </header>
          <ul class="cap">
            {grown.map(({ icon, what, why, path }) => (
              <li key={`${what} ${why}`}>
                <button type="button" onClick={() => goTo(path)}>
                  <span class="ic">
                    <Icon name={icon} />
                  </span>
                  <span>
                    <b>{what}</b>
                    <span class="s m">{why}</span>
                  </span>
                  <Icon name="right" />
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
      {diff !== undefined && grown.length === 0 && (
        <p class="s m">
          {row.serving === null
            ? 'It is new, and has no script, no tool and no right.'
            : 'No new script, tool, right, host or secret, and no changed code.'}
        </p>
      )}
      <section aria-label="Files" class="stack">
        <div class="files-nav">
          {texts.map(each => (
            <button key={each.path} type="button" class="chip" onClick={() => goTo(each.path)}>
              <Shape name={seen.value.has(each.path) ? 'check' : 'quiet'} />
              {each.path} <LineCounts texts={each} />
            </button>
          ))}
        </div>
        {texts.map((each, index) => (
          <FileDifference key={each.path} id={`file-${index}`} texts={each}>
            <label class="seen">
              <input
                type="checkbox"
                aria-label={`Seen: ${each.path}`}
                checked={seen.value.has(each.path)}
                onChange={event => mark(each.path, event.currentTarget.checked)}
              />{' '}
              Seen
            </label>
          </FileDifference>
        ))}
      </section>
      <DecisionBar row={row} diff={diff} seen={seen.value.size} doubts={doubts} />
    </>
  )
}

function doubtHidden({ name }: SkillRow, found: string): Doubt {
  return {
    title: `Approve ${name} with text that people do not see?`,
    text: `${found}. A model reads these characters, and a person does not. Approve only if they are intended.`,
    isHidden: true,
  }
}

interface DecisionBarProps {
  readonly row: SkillRow
  readonly diff: SkillDiff | undefined
  /** Number of files that were seen. */
  readonly seen: number
  readonly doubts: readonly Doubt[]
}

/** Stays visible: what was seen, what an approval causes, and the buttons. */
function DecisionBar({ row, diff, seen, doubts }: DecisionBarProps): ComponentChildren {
  const { name, target, revision } = row
  const waiting = rows.value.filter(({ status }) => status === 'pending')
  const next = waiting[(waiting.findIndex(each => each.target === target) + 1) % waiting.length]
  const following = next?.target === target ? undefined : next
  const goOn = (): void => {
    // A slow answer does not move a person who looks at something else by now.
    if (route.value.chosen !== undefined && findRow(route.value.chosen)?.target !== target) return
    if (route.value.view !== 'skills') return
    if (following === undefined) go({ view: 'overview' })
    else go({ view: 'skills', chosen: following.target, query: route.value.query })
  }
  const decide = async (
    verb: 'approve' | 'reject',
    more: { readonly note?: string; readonly confirmHidden?: boolean },
  ): Promise<Toast | undefined> => {
    // Names the shown revision, so that the server refuses the decision if a newer one exists.
    const of = { skill: target, ...(revision === null ? {} : { revision }) }
    try {
      await client.decide({ verb, ...of, ...more })
    } catch (thrown) {
      // The server looks into large files only now.
      if (!(thrown instanceof ApiError) || thrown.code !== 'HIDDEN_TEXT' || more.confirmHidden === true)
        throw thrown
      ask(doubtHidden(row, thrown.message))
      return undefined
    }
    goOn()
    const effect = verb === 'approve' ? ` ${describeReached()}.` : ''
    const then = following === undefined ? ' Nothing else waits.' : ` Next: ${following.name}.`
    return {
      text: `${verb === 'approve' ? 'Approved' : 'Rejected'} ${name}.${effect}${then}`,
      undo: () => client.decide({ verb: 'withdraw', ...of }),
    }
  }
  const ask = (...all: readonly [Doubt, ...Doubt[]]): void => {
    const [first, ...others] = all
    const goToFile = all.find(doubt => doubt.goToFile)?.goToFile
    // The question is in front of the file, which has the focus afterwards.
    goToFile?.()
    question.value = {
      title: first.title,
      text: (
        <>
          {[first.text, ...others.map(({ title, text }) => `${title}. ${text}`)].join(' ')}{' '}
          {goToFile && (
            <button type="button" class="link" onClick={closeDialog}>
              Show it
            </button>
          )}
        </>
      ),
      confirm: 'Approve anyway',
      isDangerous: true,
      run: () => decide('approve', first.isHidden === true ? { confirmHidden: true } : {}),
    }
  }
  const approve = (): void => {
    if (diff === undefined) return
    const [first, ...others] = doubts
    if (first === undefined) act(() => decide('approve', {}))
    else ask(first, ...others)
  }
  const reject = (): void => {
    question.value = {
      title: `Reject this change of ${name}?`,
      text: 'The live text stays. The same change is not offered again; a newer one is.',
      reason: `Reason, for your team and the author`,
      confirm: 'Reject',
      isDangerous: true,
      run: note => decide('reject', note === '' ? {} : { note }),
    }
  }
  useLayoutEffect(() => bindKeys({ a: approve, r: reject, n: goOn }))
  const texts = diff?.texts ?? []
  const counts = texts.map(each => countLines(compareFile(each)))
  const lines = counts.reduce((sum, { added, removed }) => sum + added + removed, 0)
  const isHidden = doubts.some(doubt => doubt.isHidden)
  return (
    <section class="act" aria-label="Decision">
      <p class="s grow">
        <b>
          {seen} of {plural(texts.length, 'file')} seen
        </b>{' '}
        <span class="m">
          · {plural(lines, 'line')} · {describeReached()}
        </span>
      </p>
      {following !== undefined && (
        <button type="button" class="btn bare later" onClick={goOn}>
          Later: {following.name} <kbd>N</kbd>
        </button>
      )}
      <ChangeButton class="btn danger" onClick={reject} disabled={diff === undefined}>
        Reject… <kbd>R</kbd>
      </ChangeButton>
      <ChangeButton class={isHidden ? 'btn' : 'btn primary'} onClick={approve} disabled={diff === undefined}>
        Approve{doubts.length > 0 && '…'} <kbd>A</kbd>
      </ChangeButton>
    </section>
  )
}
