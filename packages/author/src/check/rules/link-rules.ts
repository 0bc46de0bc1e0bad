import { digestOf, findNearest, quote } from '@skillstoke/core/internal'
import { portableHasher } from '@skillstoke/core/source'
import type { CheckedSkill, OtherSkill } from '../checked-skill.ts'
import type { FindingEdit } from '../finding.ts'
import type { CheckCode } from '../finding-table.ts'
import { findLinks, type MarkdownLine, readMarkdown, type Span, splitInlineCode } from '../markdown.ts'
import type { Found, Rule } from './rule.ts'

const OWN_FOLDER = String.raw`(?:\./)?(?:references|scripts|assets|resources|templates)/`
/** A path of the skill in inline code, perhaps with arguments behind it. */
const OWN_PATH = new RegExp(String.raw`^${OWN_FOLDER}[\w./-]*\w\.\w{1,5}(?=$|[\s#:])`)
const RUNNER = /^(?:node|python3?|bash|sh|tsx|bun|uv run)\s+(?=(?:\.\/)?scripts\/)/
/** A script that a command in a code block runs. */
const COMMAND_PATH = /(?<![\w./~$}-])(?:\.\/)?scripts\/[\w./-]*\w\.\w{1,5}\b/g
/** A line that shows how something could look. */
const IS_EXAMPLE = /\be\.g\.|\bsuch as\b|\bfor example\b|->|→|=>|…/i
/** Text in brackets that the reader replaces. */
const PLACEHOLDER = /\[[A-Z][\w ]+\](?!\()/
/** Skills of one set that have a file with the same path. */
const MAX_OWNERS = 3
/** A text that names SKILL.md as often as this explains how skills are written. */
const MAX_SKILL_FILE_MENTIONS = 2
/** Files whose links are examples, or describe another time. */
const IS_SAMPLE = /(?:^|\/)(?:templates?|examples?|samples?|changelog|fixtures?)(?:[/.]|$)|template|example/i

/** With so many dead links in other files, the files after them are not read. */
const MAX_DEAD = 100

/** A mention of a file in one file of the skill. */
interface Mention extends Span {
  readonly line: MarkdownLine
}

/** Checks that the files exist to which SKILL.md links, or which it names. */
export const checkLinks: Rule = skill => {
  if (skill.files.size === 0 || isAboutSkills(skill)) return []
  const { lines, fault } = skill.markdown
  // If the fences do not pair, it is unknown which lines are code.
  if (fault !== undefined) return []
  return [...checkLinksOf(skill, lines), ...checkNamedFiles(skill, lines)]
}

/** Checks the links in the other Markdown files of the skill. */
export const checkReferences: Rule = async skill => {
  const found: Found[] = []
  for (const { path } of skill.files.values()) {
    if (!/\.md$/i.test(path) || /^skill\.md$/i.test(path) || IS_SAMPLE.test(path)) continue
    const text = await skill.read(path)
    const { lines, fault } = readMarkdown(text ?? '')
    if (fault !== undefined) continue
    for (const mention of listLinks(lines)) {
      if (found.length >= MAX_DEAD) return found
      const target = toPath(mention.text)
      if (target === undefined) continue
      const own = join(path, target)
      // A path may also start at the folder of the skill.
      if (own === undefined || exists(skill, own) || exists(skill, join('', target))) continue
      if (skill.given.exists?.(join(path, target, true) ?? '')) continue
      const { edit, ...dead } = deadLink(
        skill,
        'REFERENCE_LINK_DEAD',
        mention,
        target,
        path.replace(/[^/]*$/, ''),
      )
      const digest = digestOf(text ?? '', portableHasher)
      found.push({ ...dead, file: path, ...(edit === undefined ? {} : { edit: { ...edit, digest } }) })
    }
  }
  return found
}

function* checkLinksOf(skill: CheckedSkill, lines: readonly MarkdownLine[]): Generator<Found> {
  for (const mention of listLinks(lines)) {
    const target = toPath(mention.text)
    if (target === undefined) continue
    const path = join('', target)
    if (exists(skill, path)) continue
    const spelled = findOtherCase(skill, target)
    const isOnDisk = skill.given.exists?.(target)
    if (spelled !== undefined) yield otherCase(mention, target, spelled)
    else if (isOnDisk === true) {
      if (path === undefined) yield escapes(mention, target)
    } else if ((path !== undefined || isOnDisk === false) && !isExample(mention.line, lines))
      yield deadLink(skill, 'LINK_DEAD', mention, target)
  }
}

function* checkNamedFiles(skill: CheckedSkill, lines: readonly MarkdownLine[]): Generator<Found> {
  const reported = new Set<string>()
  for (const line of lines) {
    for (const { text, column } of listPaths(skill, line)) {
      const path = text.replace(/^\.\//, '')
      if (exists(skill, path) || reported.has(path) || skill.given.exists?.(path)) continue
      if (isExample(line, lines)) continue
      reported.add(path)
      const sibling = findOwner(skill, path)
      const mention = { line, text, column }
      yield sibling === undefined
        ? deadLink(skill, 'FILE_MISSING', mention, path)
        : escapes(mention, path, ` of the skill ${quote(sibling.name)}`)
    }
  }
}

/** Whether a line, or a placeholder beside it, shows how something could look. */
function isExample(line: MarkdownLine, lines: readonly MarkdownLine[]): boolean {
  const index = line.number - (lines[0]?.number ?? 1)
  const near = lines.slice(Math.max(index - 1, 0), index + 2)
  return IS_EXAMPLE.test(line.text) || near.some(({ text }) => PLACEHOLDER.test(text))
}

/** Returns the skill with this file that the text names. A path that many skills have belongs to none of them. */
function findOwner({ given, fields, body }: CheckedSkill, path: string): OtherSkill | undefined {
  const owners = (given.others ?? []).filter(({ name, paths }) => name !== fields.name && paths.has(path))
  return owners.length > MAX_OWNERS ? undefined : owners.find(({ name }) => body.includes(name))
}

/** Lists the paths of the skill that a line names in inline code or runs as a command. */
function listPaths(skill: CheckedSkill, line: MarkdownLine): readonly Span[] {
  const runs = (text: string): boolean => !/[*{}<>]|\bpath\/to\b|script_name/.test(text)
  const hasScripts = [...skill.files.keys()].some(path => path.startsWith('scripts/'))
  if (line.kind === 'code') {
    return hasScripts ? findAll(COMMAND_PATH, line.text).filter(({ text }) => runs(text)) : []
  }
  if (line.kind === 'fence') return []
  return splitInlineCode(line.text).codes.flatMap(({ text, column }) => {
    const [runner = ''] = (hasScripts && RUNNER.exec(text)) || []
    const path = OWN_PATH.exec(text.slice(runner.length))?.[0]
    return path === undefined || !runs(text) ? [] : { text: path, column: column + runner.length }
  })
}

function findAll(pattern: RegExp, text: string): readonly Span[] {
  return [...text.matchAll(pattern)].map(match => ({ text: match[0], column: match.index + 1 }))
}

function listLinks(lines: readonly MarkdownLine[]): readonly Mention[] {
  return lines
    .filter(({ kind }) => kind === 'text')
    .flatMap(line => findLinks(splitInlineCode(line.text).prose).map(link => ({ ...link, line })))
}

/** Returns the path of a relative link without its fragment, or `undefined` for any other target. */
function toPath(target: string): string | undefined {
  if (/^(?:[a-z][a-z0-9+.-]*:|[#/~\\]|www\.)/i.test(target) || /[{}<>$*]|\.\.\.|\bpath\/to\b/.test(target))
    return undefined
  const path = target.replace(/[#?].*$/, '')
  if (!/[./]/.test(path)) return undefined
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/**
 * Returns the path of a link that stands in the file `from`. Returns `undefined` for a path outside of the skill, unless
 * `isOutside` is true.
 */
function join(from: string, target: string, isOutside = false): string | undefined {
  const parts = from.split('/').slice(0, -1)
  for (const part of target.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..') parts.push(part)
    else if (parts.length > 0 && parts.at(-1) !== '..') parts.pop()
    else if (isOutside) parts.push(part)
    else return undefined
  }
  return parts.join('/')
}

/** Whether a file or a folder of the skill has this path. */
function exists({ files, folders }: CheckedSkill, path: string | undefined): boolean {
  return path !== undefined && (path === '' || files.has(path) || folders.has(path))
}

function findOtherCase(skill: CheckedSkill, target: string): string | undefined {
  const path = join('', target.replaceAll('\\', '/'))?.toLowerCase()
  return [...skill.files.keys()].find(each => each.toLowerCase() === path)
}

function otherCase(mention: Mention, target: string, spelled: string): Found {
  return {
    ...placeOf(mention),
    code: 'LINK_CASE',
    message: `the link ${quote(target)} spells the file ${quote(spelled)} in another way`,
    fix: `write ${quote(spelled)}`,
    edit: replaceTarget('auto', mention, toTarget(spelled)),
  }
}

function escapes(mention: Mention, target: string, owner = ' outside of the skill'): Found {
  return {
    ...placeOf(mention),
    code: 'LINK_ESCAPES',
    message: `${quote(target)} is a file${owner}, and is lost where the skill is installed alone`,
    fix: 'copy the file into the folder of the skill',
  }
}

const NOUNS = { LINK_DEAD: 'link', REFERENCE_LINK_DEAD: 'link', FILE_MISSING: 'file' } as const

/** @param folder the folder of the file with the link, with a slash at its end */
function deadLink(
  skill: CheckedSkill,
  code: keyof typeof NOUNS & CheckCode,
  mention: Mention,
  target: string,
  folder = '',
): Found {
  const file = target.split('/').at(-1)
  const paths = [...skill.files.keys()].filter(path => !/^skill\.md$/i.test(path))
  const same = paths.filter(path => path.split('/').at(-1) === file)
  const only = same.length === 1 ? same[0] : undefined
  const near = only ?? findNearest(target, paths)
  const path = only === undefined ? undefined : relative(folder, only)
  return {
    ...placeOf(mention),
    code,
    message: `the ${NOUNS[code]} ${quote(target)} does not exist in the skill`,
    fix:
      near === undefined
        ? 'add the file, or remove the text that names it'
        : `write ${quote(relative(folder, near))}, or add the file`,
    ...(path === undefined
      ? {}
      : { edit: replaceTarget('offer', mention, code === 'FILE_MISSING' ? path : toTarget(path)) }),
  }
}

/** Writes a path as the target of a link. */
function toTarget(path: string): string {
  return path
    .replace(/[%\s()<>#?]/g, encodeURIComponent)
    .replaceAll('(', '%28')
    .replaceAll(')', '%29')
}

/** Returns the path of a file as seen from a folder of the skill. */
function relative(folder: string, path: string): string {
  const up = folder.split('/').length - 1
  return path.startsWith(folder) ? path.slice(folder.length) : '../'.repeat(up) + path
}

function placeOf({ line, column }: Mention): { readonly line: number; readonly column: number } {
  return { line: line.number, column }
}

function replaceTarget(
  kind: FindingEdit['kind'],
  { line, text, column }: Mention,
  path: string,
): FindingEdit {
  const start = line.start + column - 1
  const [bare = ''] = /^[^#?]*/.exec(text) ?? []
  return { kind, title: `write ${quote(path)}`, edits: [{ start, end: start + bare.length, text: path }] }
}

function isAboutSkills({ body }: CheckedSkill): boolean {
  // A path of another skill is an ordinary mention.
  return (body.match(/(?<![\w/])SKILL\.md/g)?.length ?? 0) > MAX_SKILL_FILE_MENTIONS
}
