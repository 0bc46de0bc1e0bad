import type { ComponentChildren } from 'preact'
import type { SkillDiff } from 'skillstoke/client'
import { type ComparedLine, compareFile, compareWords, type FileTexts, type LinePair } from './compare.ts'
import { isSkillFile, plural } from './format.ts'

/** Characters of an equal text that stay visible beside a change. */
const NEAR = 32
const LONGEST = 80
/** Changed and equal pieces of a line, from the first change. */
const MAX_PIECES = 9

/** Renders a change after a colon: its first changed words, then what else differs. Renders nothing until it is loaded. */
export function ChangeText({ diff }: { readonly diff: SkillDiff | undefined }): ComponentChildren {
  if (diff === undefined || diff.texts.length === 0) return null
  const main = diff.texts.find(({ path }) => isSkillFile(path))
  const changed =
    main === undefined || main.before === null || main.after === null
      ? []
      : compareFile(main).filter(({ isEqual }) => !isEqual)
  const first = changed.toSorted((a, b) => weigh(b) - weigh(a))[0]
  const others = diff.texts.filter(each => each !== main)
  const rest = [
    ...(changed.length > 1 ? [plural(changed.length - 1, 'more line')] : []),
    ...others.slice(0, 2).map(describeFile),
    ...(others.length > 2 ? [plural(others.length - 2, 'more file')] : []),
  ].join('; ')
  return (
    <>
      : {first !== undefined && <Words from={textOf(first.before)} to={textOf(first.after)} />}
      {first !== undefined && rest !== '' && '; '}
      {rest}
    </>
  )
}

/** Counts the changed characters. A changed line says more than one that was added or removed. */
function weigh({ before, after }: LinePair): number {
  const parts = [...(before?.parts ?? []), ...(after?.parts ?? [])]
  const changed = parts.reduce((sum, { text, isChanged }) => sum + (isChanged ? text.length : 0), 0)
  return before && after ? changed : Math.min(changed, 1)
}

function textOf(line: ComparedLine | undefined): string {
  return line?.parts.map(({ text }) => text).join('') ?? ''
}

function describeFile({ path, before, after }: FileTexts): string {
  return before === null ? `${path} is new` : after === null ? `${path} is gone` : `${path} changed`
}

/** Renders the first changed words of a line, with the words around them. */
function Words({ from, to }: { readonly from: string; readonly to: string }): ComponentChildren {
  const words = compareWords(from, to)
  const start = words.findIndex(({ added, removed }) => added || removed)
  const lead = words[start - 1]?.value.replace(/^\s*(?:[-*]|\d+\.|#+|\w[\w-]*:)\s+/, '') ?? ''
  return (
    <>
      {lead.length > NEAR ? `… ${lead.slice(-NEAR).replace(/^\S*\s/, '')}` : lead}
      {words.slice(start, start + MAX_PIECES).map(({ value, added, removed }, index) => {
        if (added) return <ins key={index}>{cutEnd(value, LONGEST)}</ins>
        return removed ? <del key={index}>{cutEnd(value, LONGEST)}</del> : cutEnd(value, NEAR)
      })}
    </>
  )
}

function cutEnd(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length).replace(/\s\S*$/, '')} …`
}
