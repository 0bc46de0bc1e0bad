import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { client } from '../client.ts'
import { Answer } from './answer.tsx'
import { type ComparedLine, compareFile, countLines, type FileTexts, type LinePair } from './compare.ts'
import { plural } from './format.ts'
import { Icon } from './icons.tsx'
import { useLoaded } from './use-loaded.ts'
import { VisibleText } from './visible-text.tsx'

/** Equal lines that stay visible beside a change. */
const CONTEXT = 2
/** Lines of a new file that are shown before the person asks for more. */
const MAX_NEW_LINES = 60

interface LoadedDifferenceProps {
  readonly target: string
  /** Revisions. Without them, the refused, the waiting or the last change. */
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** Loads and renders the difference of two revisions, file by file. */
export function LoadedDifference({ target, from, to }: LoadedDifferenceProps): ComponentChildren {
  const of = { ...(from && { from }), ...(to && { to }) }
  const diff = useLoaded(() => client.diff(target, of), [target, from, to])
  return (
    <div class="files">
      <Answer of={diff}>
        {({ texts }) =>
          texts.length === 0 ? (
            <p class="s m">The texts are the same.</p>
          ) : (
            texts.map(each => <FileDifference key={each.path} texts={each} />)
          )
        }
      </Answer>
    </div>
  )
}

interface FileDifferenceProps {
  readonly id?: string
  readonly texts: FileTexts
  /** Stands at the right of the title. */
  readonly children?: ComponentChildren
}

/** Renders the difference of one file below its path. */
export function FileDifference({ id, texts, children }: FileDifferenceProps): ComponentChildren {
  return (
    <div id={id} class="card file" tabIndex={-1}>
      <header>
        <b class="cut">{texts.path}</b>
        <LineCounts texts={texts} />
        {children}
      </header>
      <Difference texts={texts} />
    </div>
  )
}

/** Renders both texts. In a wide place, they are beside each other. */
function Difference({ texts }: { readonly texts: FileTexts }): ComponentChildren {
  const pairs = compareFile(texts)
  if (texts.before === null || texts.after === null)
    return (
      <div class="diff">
        <Lines pairs={pairs.slice(0, MAX_NEW_LINES)} />
        <Fold pairs={pairs.slice(MAX_NEW_LINES)} what="more line" />
      </div>
    )
  return (
    <div class="diff side">
      {fold(pairs).map((run, index) =>
        run.isNear || run.pairs.length === 1 ? (
          <Lines key={index} pairs={run.pairs} />
        ) : (
          <Fold key={index} pairs={run.pairs} what="equal line" />
        ),
      )}
    </div>
  )
}

/** Renders how many lines of a file were added and removed. */
export function LineCounts({ texts }: { readonly texts: FileTexts }): ComponentChildren {
  if (texts.before === null) return <b class="pm added">new</b>
  if (texts.after === null) return <b class="pm removed">removed</b>
  const { added, removed } = countLines(compareFile(texts))
  return (
    <span class="pm">
      {added > 0 && <b class="added">+{added}</b>} {removed > 0 && <b class="removed">−{removed}</b>}
    </span>
  )
}

/** Splits the lines into runs near a change, and runs of equal lines to fold. */
function fold(pairs: readonly LinePair[]) {
  const runs: { readonly isNear: boolean; readonly pairs: LinePair[] }[] = []
  for (const [index, pair] of pairs.entries()) {
    const around = pairs.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1)
    const isNear = around.some(({ isEqual }) => !isEqual)
    const last = runs.at(-1)
    if (last?.isNear === isNear) last.pairs.push(pair)
    else runs.push({ isNear, pairs: [pair] })
  }
  return runs
}

interface FoldProps {
  readonly pairs: readonly LinePair[]
  readonly what: string
}

function Fold({ pairs, what }: FoldProps): ComponentChildren {
  const isOpen = useSignal(false)
  if (pairs.length === 0 || isOpen.value) return <Lines pairs={pairs} />
  return (
    <button type="button" class="fold" onClick={() => (isOpen.value = true)}>
      <Icon name="down" />
      {plural(pairs.length, what)}
    </button>
  )
}

function Lines({ pairs }: Pick<FoldProps, 'pairs'>): ComponentChildren {
  return pairs.map(({ isEqual, before, after }, index) => (
    <div key={index} class={isEqual ? 'd same' : 'd'}>
      <Line line={before} look={isEqual ? 'o' : 'x'} />
      <Line line={after} look={isEqual ? '' : 'a'} />
    </div>
  ))
}

/** The sign of a line, by its look: removed, added, or equal on the left or the right. Equal lines are read once. */
const SIGNS = { x: ['−', 'removed'], a: ['+', 'added'], o: ['', ''], '': ['', ''] } as const

interface LineProps {
  readonly line: ComparedLine | undefined
  readonly look: keyof typeof SIGNS
}

function Line({ line, look }: LineProps): ComponentChildren {
  const [sign, word] = SIGNS[look]
  const Mark = look === 'x' ? 'del' : 'ins'
  return (
    <div class={line === undefined ? 'e' : look} aria-hidden={look === 'o' || line === undefined}>
      <span>{line?.number}</span>
      {sign === '' || line === undefined ? (
        <span />
      ) : (
        <span role="img" aria-label={word}>
          {sign}
        </span>
      )}
      <span>
        {line?.parts.map(({ text, isChanged }, index) =>
          isChanged && line.parts.length > 1 ? (
            <Mark key={index}>
              <VisibleText text={text} />
            </Mark>
          ) : (
            <VisibleText key={index} text={text} />
          ),
        )}
      </span>
    </div>
  )
}
