import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { SkillDiff, SkillRow } from 'skillstoke/client'
import { ApiError } from 'skillstoke/client'
import { client } from '../client.ts'
import { bindKeys } from '../keyboard.ts'
import { Answer } from '../parts/answer.tsx'
import { ChangeButton } from '../parts/change-button.tsx'
import { compareFile, countLines } from '../parts/compare.ts'
import { Difference, LineCounts } from '../parts/difference.tsx'
import { isSkillFile, plural } from '../parts/format.ts'
import { Icon, type IconName, Shape } from '../parts/icons.tsx'
import { act, question, type Toast } from '../parts/overlay.tsx'
import { Ago } from '../parts/time.tsx'
import { loadedValue, useLoaded } from '../parts/use-loaded.ts'
import { go, route } from '../route.ts'
import { rows, sessions } from '../store.ts'
import { openNext } from '../views/visible-rows.ts'
import { describeReached } from './actions.tsx'
import { type HistoryRecord, nameAuthor } from './author.ts'
import { findMentions } from './mentions.ts'
import { Title } from './skill-pane.tsx'

interface ApprovalProps {
  readonly row: SkillRow
  readonly heading: { readonly current: HTMLHeadingElement | null }
  readonly records: readonly HistoryRecord[]
}

/** Renders a change that waits for approval: what it may do more than before, then each file, and the decision. */
export function Approval({ row, heading, records }: ApprovalProps): ComponentChildren {
  const diff = useLoaded(() => client.diff(row.target), [row.target, row.revision, row.status])
  const detail = useLoaded(() => client.skill(row.target), [row.target, row.revision])
  // The revision that the person began to read.
  const opened = useRef(row.revision)
  const isNewer = opened.current !== row.revision
  const held = records.find(({ revision, event }) => revision === row.revision && event !== 'decided')
  const unreported = loadedValue(detail)?.unreported ?? []
  const hidden = [...row.diagnostics, ...unreported].filter(({ code }) => code === 'HIDDEN_TEXT')
  return (
    <>
      <div class="in">
        <Title row={row} heading={heading}>
          <p class="why">
            {held !== undefined && (
              <>
                {nameAuthor(held)} changed it in {row.source} <Ago at={held.at} />
                {held.note !== undefined && ` with the note “${held.note}”`}.{' '}
              </>
            )}
            {describeUntil(row)}
          </p>
        </Title>
        {isNewer && (
          <p class="note warn" role="status">
            <Shape name="warn" />
            <span>A newer text has arrived since you opened this page. It is shown below.</span>
          </p>
        )}
        <Answer of={diff}>
          {value =>
            value.to === row.revision ? (
              <Review key={row.revision} row={row} diff={value} hidden={hidden} isNewer={isNewer} />
            ) : (
              <p class="m">Loading what would go live …</p>
            )
          }
        </Answer>
      </div>
      {diff === undefined && (
        <DecisionBar row={row} diff={undefined} seen={new Set()} hidden={hidden} onUnseen={() => undefined} />
      )}
    </>
  )
}

function describeUntil({ serving }: SkillRow): string {
  if (serving === null) return 'Until you decide, no agent has it.'
  const { length } = sessions.value
  return length === 0
    ? 'Until you decide, the text before it stays live.'
    : `Until you decide, ${plural(length, 'conversation keeps', 'conversations keep')} the text before it.`
}

interface ReviewProps {
  readonly row: SkillRow
  readonly diff: SkillDiff
  readonly hidden: SkillRow['diagnostics']
  /** Whether this text arrived while the person read another one. */
  readonly isNewer: boolean
}

/** Something that the new text may do and the live text may not. */
interface Growth {
  readonly icon: IconName
  readonly what: string
  readonly why: string
  /** The file that says so. */
  readonly path: string
}

function Review({ row, diff, hidden, isNewer }: ReviewProps): ComponentChildren {
  const seen = useSignal<ReadonlySet<string>>(new Set())
  const at = useRef(0)
  const grown = findGrowth(diff, hidden)
  const { texts } = diff
  const mark = (path: string, isSeen: boolean): void => {
    const next = new Set(seen.value)
    if (isSeen) next.add(path)
    else next.delete(path)
    seen.value = next
  }
  const goTo = (index: number): void => {
    at.current = index
    document.getElementById(`file-${index}`)?.scrollIntoView({ block: 'start' })
    document.getElementById(`file-${index}`)?.focus({ preventScroll: true })
  }
  useLayoutEffect(
    () =>
      bindKeys({
        // Beyond the files, the keys move through the skills.
        j: () => {
          const path = texts[at.current]?.path
          const isLast = at.current === texts.length - 1
          if (path === undefined || (isLast && seen.value.has(path))) return openNext(1)
          mark(path, true)
          if (!isLast) goTo(at.current + 1)
        },
        k: () => (at.current === 0 ? openNext(-1) : goTo(at.current - 1)),
      }),
    [texts],
  )
  // A text that everybody reads anyway is no capability.
  const unseen = grown.find(({ path, icon }) => icon !== 'text' && !seen.value.has(path))
  return (
    <>
      {grown.length > 0 && <Grown grown={grown} texts={texts} onOpen={goTo} />}
      {grown.length === 0 && (
        <p class="s m">
          {row.serving === null
            ? 'It is new, and has no script, no tool and no right.'
            : 'It can do the same as before: no new script, no new tool, no new right.'}
        </p>
      )}
      <section aria-label="Files" class="stack">
        <div class="files-nav">
          {texts.map((each, index) => (
            <button key={each.path} type="button" class="chip" onClick={() => goTo(index)}>
              <Shape name={seen.value.has(each.path) ? 'check' : 'quiet'} />
              {each.path} <LineCounts texts={each} />
            </button>
          ))}
        </div>
        {texts.map((each, index) => (
          <div key={each.path} id={`file-${index}`} class="card file" tabIndex={-1}>
            <header>
              <b class="cut">{each.path}</b>
              <LineCounts texts={each} />
              <label class="seen">
                <input
                  type="checkbox"
                  checked={seen.value.has(each.path)}
                  onChange={event => mark(each.path, event.currentTarget.checked)}
                />{' '}
                Seen
              </label>
            </header>
            <Difference texts={each} />
          </div>
        ))}
      </section>
      <DecisionBar
        row={row}
        diff={diff}
        seen={seen.value}
        hidden={hidden}
        unseen={unseen?.path}
        isNewer={isNewer}
        onUnseen={path => goTo(texts.findIndex(each => each.path === path))}
      />
    </>
  )
}

interface GrownProps {
  readonly grown: readonly Growth[]
  readonly texts: SkillDiff['texts']
  readonly onOpen: (index: number) => void
}

function Grown({ grown, texts, onOpen }: GrownProps): ComponentChildren {
  return (
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
            <button
              type="button"
              onClick={() =>
                onOpen(
                  Math.max(
                    0,
                    texts.findIndex(each => each.path === path),
                  ),
                )
              }
            >
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
  )
}

/** Says where hidden text is, and which characters it has. */
function describePlace({ path = '', line, message }: SkillRow['diagnostics'][number]): string {
  const file = path.replace(/^.*\/(?=(?:scripts|references|assets|evals)\/)|^.*\/(?=[^/]+$)/, '')
  return `${file} ${line === undefined ? '' : `line ${line}`}: ${message}`.trim()
}

/** Lists what the new text may do more, with hidden words first. */
function findGrowth(diff: SkillDiff, hidden: SkillRow['diagnostics']): readonly Growth[] {
  const { texts, newCapabilities, fields } = diff
  const main = texts.find(({ path }) => isSkillFile(path))?.path ?? 'SKILL.md'
  const named = (text: string): string => texts.find(({ path }) => text.includes(path))?.path ?? main
  const mentions = texts
    .filter(({ path, after }) => after !== null && path.startsWith('scripts/'))
    .flatMap(({ path, before, after }) =>
      findMentions(before ?? '', after ?? '').map(mention => ({ ...mention, path })),
    )
  const description = fields.find(({ field }) => field === 'description')
  return [
    ...(hidden.length === 0
      ? []
      : [
          {
            icon: 'eye' as const,
            what: 'Say something that people do not see',
            why: hidden.map(describePlace).join('; '),
            path: hidden[0]?.path?.includes('/scripts/') ? named(hidden[0].path) : main,
          },
        ]),
    ...newCapabilities.map(text => {
      const isScript = /^the script|executable$/.test(text)
      return {
        icon: isScript ? ('terminal' as const) : ('tools' as const),
        what: isScript ? 'Run a script' : 'Use more tools or rights',
        why: text,
        path: isScript ? named(text) : main,
      }
    }),
    ...mentions.map(({ kind, name, line, path }) => ({
      icon: kind === 'host' ? ('globe' as const) : ('key' as const),
      what: kind === 'host' ? `Mentions the host ${name}` : `Mentions the secret ${name}`,
      why: `${path}, line ${line}`,
      path,
    })),
    ...(description?.before === undefined
      ? []
      : [
          {
            icon: 'text' as const,
            what: 'Load for other messages',
            why: 'its description changed',
            path: main,
          },
        ]),
  ]
}

interface DecisionBarProps {
  readonly row: SkillRow
  /** Absent while it loads. */
  readonly diff: SkillDiff | undefined
  readonly seen: ReadonlySet<string>
  readonly hidden: SkillRow['diagnostics']
  /** A script that was not seen. */
  readonly unseen?: string | undefined
  readonly isNewer?: boolean
  readonly onUnseen: (path: string) => void
}

/** Stays visible: what was seen, what an approval causes, and the buttons. */
function DecisionBar({
  row,
  diff,
  seen,
  hidden,
  unseen,
  isNewer = false,
  onUnseen,
}: DecisionBarProps): ComponentChildren {
  const { name, target, revision } = row
  const waiting = rows.value.filter(({ status }) => status === 'pending')
  const next = waiting[(waiting.findIndex(each => each.target === target) + 1) % waiting.length]
  const following = next?.target === target ? undefined : next
  const total = diff?.texts.length ?? 0
  const goOn = (): void => {
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
      askHidden(thrown.message)
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
  const askHidden = (found: string): void => {
    question.value = {
      title: `Approve ${name} with text that people do not see?`,
      text: `${found}. A model reads these characters, and a person does not. Approve only if they are intended.`,
      confirm: 'Approve anyway',
      isDangerous: true,
      run: () => decide('approve', { confirmHidden: true }),
    }
  }
  const approve = (): void => {
    if (diff === undefined) return
    if (hidden.length > 0) askHidden(hidden.map(describePlace).join('; '))
    else if (unseen === undefined && !isNewer) act(() => decide('approve', {}))
    else
      question.value = {
        title: isNewer ? `A newer text of ${name} has arrived` : `You have not seen ${unseen}`,
        text: isNewer
          ? 'Approve it only if you have read the text that is shown now.'
          : 'It can do more than before. Mark it as seen when you have read it.',
        confirm: 'Approve anyway',
        isDangerous: true,
        run: () => decide('approve', {}),
      }
    if (unseen !== undefined && hidden.length === 0) onUnseen(unseen)
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
  const lines = diff?.texts.reduce((sum, texts) => {
    const { added, removed } = countLines(compareFile(texts))
    return sum + added + removed
  }, 0)
  return (
    <section class="act" aria-label="Decision">
      <p class="s grow">
        <b>
          {seen.size} of {plural(total, 'file')} seen
        </b>{' '}
        <span class="m">
          · {plural(lines ?? 0, 'line')} · {describeReached()}
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
      <ChangeButton
        class={hidden.length > 0 ? 'btn' : 'btn primary'}
        onClick={approve}
        disabled={diff === undefined}
      >
        Approve{hidden.length > 0 && '…'} <kbd>A</kbd>
      </ChangeButton>
    </section>
  )
}
