import { SkillError, validateSkill } from '@skillstoke/core'
import { quote, suggestName } from '@skillstoke/core/internal'
import { dump } from 'js-yaml'

/** The kinds of instructions that a new skill can begin with. */
export const SKILL_TEMPLATES = ['procedure', 'reference', 'script', 'checklist', 'style'] as const

export type SkillTemplate = (typeof SKILL_TEMPLATES)[number]

/** What a new skill is called and what it is for. */
export interface NewSkill {
  readonly name: string
  /** What the skill does and when to use it, as one text. `describeNewSkill()` makes it of two answers. */
  readonly description: string
  /** @default 'procedure' */
  readonly template?: SkillTemplate
}

/** A file of a new skill. */
export interface NewFile {
  /** Path in the folder of the skill. */
  readonly path: string
  readonly text: string
}

/**
 * Returns the files of a new skill, in the order in which to write them: SKILL.md is last, so that a process that
 * watches the folder sees the skill only when it is complete.
 * @throws {SkillError} INVALID_OPTION for a name that is invalid, with the nearest valid name, and for a description that
 * is empty or too long
 *
 * @example
 * ```ts
 * import { renderNewSkill } from '@skillstoke/author'
 *
 * const description = 'Writes VAT reports. Use when somebody asks for the VAT of a month.'
 * console.log(renderNewSkill({ name: 'vat-report', description }).map(({ path }) => path))
 * // prints [ 'evals/tests.yaml', 'SKILL.md' ]
 * ```
 */
export function renderNewSkill({ name, description, template = 'procedure' }: NewSkill): readonly NewFile[] {
  const { 'SKILL.md': instructions, ...others } = TEMPLATES[template]
  const frontmatter = dump({ name, description: description.trim().replace(/\s+/g, ' ') }, { lineWidth: -1 })
  const title = name.charAt(0).toUpperCase() + name.slice(1).replaceAll('-', ' ')
  const text = `---\n${frontmatter}---\n# ${title}\n\n${instructions}`
  const files = Object.entries({ 'evals/tests.yaml': TESTS, ...others, 'SKILL.md': text })
  const [fault] = validateSkill(new TextEncoder().encode(text))
  if (fault === undefined) return files.map(([path, content]) => ({ path, text: content }))
  const isAboutName = fault.code.startsWith('NAME') && !fault.message.includes('; use ')
  const fix = isAboutName ? `use ${quote(suggestName(name))}` : fault.fix
  throw new SkillError('INVALID_OPTION', fix === undefined ? fault.message : `${fault.message}; ${fix}`)
}

/**
 * Makes a description of what a skill does and when to use it.
 *
 * @example
 * ```ts
 * import { describeNewSkill } from '@skillstoke/author/internal'
 *
 * console.log(describeNewSkill('writes VAT reports', 'somebody asks for the VAT of a month'))
 * // prints Writes VAT reports. Use when somebody asks for the VAT of a month.
 * ```
 */
export function describeNewSkill(what: string, when: string): string {
  const [does = '', own = ''] = what.split(/\buse when\s/i).map(cutEnd)
  const asked = [own, cutEnd(when.replace(/^\s*(?:use\s+)?(?:when|if)\s+/i, ''))]
    .filter(Boolean)
    .join(', or when ')
  if (does === '') return `Use when ${asked}.`
  return `${does.charAt(0).toUpperCase()}${does.slice(1)}. Use when ${asked}.`
}

function cutEnd(text: string): string {
  const trimmed = text.trim()
  return trimmed.endsWith('.') ? cutEnd(trimmed.slice(0, -1)) : trimmed
}

const TESTS = `# "fires": messages that should load this skill. "silent": messages that should not.
# "ask": messages and what the answer must have. Replace [] with a list, for example:
#   fires:
#     - What is the VAT of March?
#   ask:
#     - message: What is the VAT of March?
#       expect: [{ contains: 19 % }]
fires: []
silent: []
ask: []
`

/** The texts of the files, by path. */
type TemplateFiles = Readonly<Record<string, string>> & { readonly 'SKILL.md': string }

/** The files of each template. Their texts hold without a change, because an author may leave them as they are. */
const TEMPLATES: Readonly<Record<SkillTemplate, TemplateFiles>> = {
  procedure: {
    'SKILL.md': `1. Read the request and name what is missing. Ask for it before you begin.
2. Do the work in steps that can be checked one by one. If a step fails twice, stop and report the error message.
3. Compare the result with the request.
4. Report what was done, and what was left out and why.
`,
  },
  reference: {
    'SKILL.md': `Read [references/facts.md](references/facts.md) before you answer. Quote the line that an answer comes from.
If the facts do not answer the question, say so. Do not guess.
`,
    'references/facts.md': `# Facts

One fact in each line, with its source and the day on which it was checked.
`,
  },
  script: {
    'SKILL.md': `Run \`node scripts/main.mjs FILE\`. The script prints its result as JSON and changes no file.
If the script exits with another code than 0, report its error message and do not try to do its work by hand.
`,
    'scripts/main.mjs': `// Prints facts about a file as JSON: main.mjs FILE
import { readFile } from 'node:fs/promises'

const [path] = process.argv.slice(2)
if (path === undefined) throw new Error('usage: main.mjs FILE')
const text = await readFile(path, 'utf8')
console.log(JSON.stringify({ path, lines: text.split('\\n').length, characters: text.length }))
`,
  },
  checklist: {
    'SKILL.md': `Check every item, and report the items that fail with the file and the line.

- [ ] The result does what was asked, and nothing else.
- [ ] Every claim has a source that was read. Names, dates and numbers agree with it.
- [ ] What is not done is said.
`,
  },
  style: {
    'SKILL.md': `Follow these rules in every text. Change the wording, never the facts.

| rule | instead of | write |
|---|---|---|
| Name who acts. | The file is deleted. | The command deletes the file. |
| Numbers instead of adjectives. | a very short wait | a wait of 2 seconds |
`,
  },
}
