import { quote } from '@skillstoke/core/internal'
import type { CheckedSkill } from '../checked-skill.ts'
import { type Markdown, type MarkdownLine, splitInlineCode } from '../markdown.ts'
import type { Found, Rule } from './rule.ts'

/** The most tokens that instructions should cost. Source: agentskills.io recommends less than 5,000. */
export const MAX_BODY_TOKENS = 5000

/** Returns the lines of the body that match a pattern. Most bodies do not match, so the whole text is tested first. */
function linesWith(pattern: RegExp, { body, markdown }: CheckedSkill): readonly MarkdownLine[] {
  return pattern.test(body) ? markdown.lines.filter(({ text }) => pattern.test(text)) : []
}

export const checkFences: Rule = ({ markdown: { fault } }) => {
  if (fault === undefined) return []
  const { line, open, outer } = fault
  const isNested = outer.length > 0
  const shown = `the code fence ${quote(line.text.trim(), 30)}`
  return [
    {
      ...{ code: 'FENCE_UNBALANCED', line: line.number, column: 1 },
      message: isNested
        ? `${shown} stands in another block, and the next fence ends that block`
        : open === undefined
          ? `${shown} is never closed`
          : `${shown} stands in the block that line ${open.number} opens`,
      fix: isNested ? 'write a longer fence around the outer block' : 'close the block, or remove the fence',
      ...(isNested ? { edit: lengthenFences(outer) } : {}),
    },
  ]
}

/** Lengthens each outer fence by one mark for each level inside of it. */
function lengthenFences(outer: NonNullable<Markdown['fault']>['outer']): NonNullable<Found['edit']> {
  const edits = outer
    .flatMap(({ open, close }) => {
      const inner = outer.filter(each => each.open.start > open.start && each.close.start < close.start)
      return [open, close].map(line => {
        const start = line.start + line.text.search(/[`~]/)
        return { start, end: start, text: (line.text.trimStart()[0] ?? '`').repeat(inner.length + 1) }
      })
    })
    .toSorted((a, b) => a.start - b.start)
  return { kind: 'offer', title: 'write longer outer fences', edits }
}

/** Names in example paths that are no names of people. */
const SAMPLE_NAMES =
  /^(?:x+|me|you|your.*|my.*|user\w*|name|some.*|alice|bob|john|jane|joe|doe|foo|bar|example\w*|runner|ubuntu|node|root|claude|agent|sandbox|vscode|codespace|gitpod|admin|dev|developer|app|shared|public|default|test\w*|username|home|workspace|project\w*|jovyan|coder|ec2-user|vagrant|pi|deploy\w*|git|linuxbrew|oai|sprite|daytona)$/i
const PERSONAL = /(?:(?<![\w.)}-])\/(?:Users|home)\/|\b[A-Z]:\\{1,2}Users\\{1,2})([\w.-]+)/g

export const checkPersonalPaths: Rule = skill =>
  linesWith(/\/(?:Users|home)\/|\\Users\\/, skill).flatMap(({ text, number }) =>
    [...text.matchAll(PERSONAL)]
      .filter(([, name = '']) => !SAMPLE_NAMES.test(name) && !/^\.+$/.test(name))
      .slice(0, 1)
      .map(match => ({
        ...{ code: 'PATH_PERSONAL' as const, line: number, column: match.index + 1 },
        message: `${quote(match[0])} exists only on the machine of one person`,
        fix: 'write a relative path, or name a variable such as $DATA_DIR',
      })),
  )

const INSTALL_FOLDER = String.raw`(?:~|\$HOME|\$\{HOME\}|\.)?\/?\.(?:claude|codex|cursor|agents|gemini|opencode|copilot|github|config\/opencode)\/skills\/`
const IS_INSTALLING =
  /\b(?:cp|mv|ln|mkdir|rsync|clone|install(?:s|ed|ation)?|copy|unzip|tar|curl|wget|symlink|rm|ls|add|upload)\b/i

/** Reports paths of the skill's own files below the folder of one client. */
export const checkOwnPaths: Rule = skill => {
  const names = [skill.given.directoryName ?? '', skill.fields.name].filter(name => /^[\w-]+$/.test(name))
  if (names.length === 0) return []
  const pattern = new RegExp(`${INSTALL_FOLDER}(?:${names.join('|')})/([\\w./-]*\\w)`, 'g')
  const found = linesWith(/\/skills\//, skill).flatMap(line => {
    if (IS_INSTALLING.test(line.text)) return []
    const paths = [...line.text.matchAll(pattern)].map(match => toFixedPath(skill, line, match))
    // Only a command in a code block may name a folder or a file that the skill makes later.
    return line.kind === 'code' ? paths : paths.filter(({ edit }) => edit !== undefined)
  })
  return new Map(found.toReversed().map(each => [each.message, each])).values()
}

function toFixedPath(skill: CheckedSkill, line: MarkdownLine, match: RegExpExecArray): Found {
  const [whole, path = ''] = match
  const start = line.start + match.index
  const edit = {
    kind: 'offer',
    title: `write ${quote(path)}`,
    edits: [{ start, end: start + whole.length, text: path }],
  } as const
  return {
    ...{ code: 'OWN_PATH_FIXED', line: line.number, column: match.index + 1 },
    message: `${quote(whole)} exists only where one client installs the skill`,
    fix: `write the path relative to the skill: ${quote(path)}`,
    ...(skill.files.has(path) ? { edit } : {}),
  }
}

/** Lines of known templates for skills. Lines that begin with an entry count, too. */
const TEMPLATE_LINES = [
  '# Insert instructions below',
  '[TODO: 1-2 sentences explaining what this skill enables]',
  "[TODO: Choose the structure that best fits this skill's purpose",
  '## [TODO: Replace with the first main section based on chosen structure]',
  '[TODO: Add content here.',
  '[Add your instructions here]',
  'Add your skill instructions here',
  '[Your skill instructions here]',
  '[Instructions for Claude to follow when this skill is active]',
  '[Clear, step-by-step guidance for Claude to follow]',
  '[Concrete examples of using this Skill]',
]

export const checkTemplateLines: Rule = skill =>
  skill.markdown.lines
    .filter(({ kind, text }) => kind === 'text' && TEMPLATE_LINES.some(each => text.trim().startsWith(each)))
    .map(({ text, number }) => ({
      ...{ code: 'TEMPLATE_LEFT' as const, line: number, column: 1 },
      message: `${quote(text.trim(), 60)} is a line of a template`,
      fix: 'replace it with the instructions',
    }))

export const checkBodySize: Rule = (skill, { countTokens }) => {
  // A token is at least one byte, so most bodies need no count.
  if (skill.body.length <= MAX_BODY_TOKENS) return []
  const tokens = countTokens(skill.body)
  if (tokens <= MAX_BODY_TOKENS) return []
  const { line, title, share } = findLargestSection(skill, countTokens)
  return [
    {
      ...{ code: 'BODY_TOO_MANY_TOKENS', line, column: 1 },
      message: `the instructions have about ${tokens.toLocaleString('en')} tokens; ${title} has ${share.toLocaleString('en')} of them`,
      fix: 'move details into files below references/, and say when to read them',
    },
  ]
}

function findLargestSection(
  { markdown, bodyLine }: CheckedSkill,
  countTokens: (text: string) => number,
): { readonly line: number; readonly title: string; readonly share: number } {
  const sections: { readonly line: number; readonly title: string; text: string }[] = [
    { line: bodyLine, title: 'the beginning', text: '' },
  ]
  for (const { kind, text, number } of markdown.lines) {
    if (kind === 'text' && /^#{1,2} /.test(text))
      sections.push({ line: number, title: quote(text.replace(/^#+ /, ''), 60), text: '' })
    const last = sections.at(-1)
    if (last !== undefined) last.text += `${text}\n`
  }
  const [largest] = sections.toSorted((a, b) => b.text.length - a.text.length)
  return {
    line: largest?.line ?? bodyLine,
    title: largest?.title ?? '',
    share: countTokens(largest?.text ?? ''),
  }
}

const MIXED =
  /(?<!\p{L})(?:[A-Za-z]+[\p{L}&&\p{Script=Cyrillic}]|[\p{L}&&\p{Script=Cyrillic}]+[A-Za-z])\p{L}*/gv

/** Reports words with Latin and Cyrillic letters. A prefix of one letter, and units, may be mixed on purpose. */
export const checkMixedWords: Rule = skill => {
  if (!/\p{Script=Cyrillic}/u.test(skill.text)) return []
  return skill.text.split('\n').flatMap((text, index) => {
    const { prose } = splitInlineCode(text)
    const match = [...prose.matchAll(MIXED)].find(([word]) => word.length >= 3 && !prose.includes(`-${word}`))
    if (match === undefined) return []
    return [
      {
        ...{ code: 'WORD_MIXED_SCRIPT', line: index + 1, column: match.index + 1 },
        message: `the word ${quote(match[0])} mixes Latin and Cyrillic letters: ${spell(match[0])}`,
        fix: 'write the word with letters of one script',
      } as const,
    ]
  })
}

function spell(word: string): string {
  const letters = [...word].filter(letter => /\p{Script=Cyrillic}/u.test(letter))
  return letters
    .map(letter => `U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`)
    .join(' ')
}
