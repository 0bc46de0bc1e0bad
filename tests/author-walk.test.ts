import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname } from 'node:path'
import { expect, test } from 'vitest'
import { BIN } from './fixtures/cli.ts'
import { type ChatReply, OpenAiServer } from './fixtures/openai-server.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'
import { hasTmux, type Pane, Tmux } from './fixtures/tmux.ts'

/** The page with the recording. With `RECORD_WALK`, the test writes it. */
const PAGE = 'docs/author-walk.md'
const FENCE = '```'

const FIRES = [
  'Write the changelog for 2.4',
  'Add these commits to the changelog',
  'We make a release today, what do I publish?',
  'Prepare the release of version 3',
  'Describe each change since May',
  'Is this change in the changelog?',
  'The release needs its list of new features',
  'Draft the changelog entry for this pull request',
  'What is new since the last version?',
  'List what we merged since Monday',
  'Summarize the commits since the tag',
  'Tell users what they get with the update',
]
const SILENT = [
  'Release the lock of the database',
  'Roll the release back',
  'Make the button blue',
  'Explain how tags work in git',
  'Translate the manual',
  'Review this pull request',
  'Write a blog article about our team',
  'Fix the failing build',
]

const FIRST = 'Writes the changelog of a release: one line for each change. Use when a release is made.'
const BETTER =
  'Writes the changelog of a release: what is new for users since the last version or tag. Use when commits are merged or summarized for a release. Do not use to roll back a release.'
const BODY = '# Changelog\n\n1. Read references/format.md.\n2. Write one line for each commit.\n'

function toTests(fires: readonly string[]): string {
  const list = (messages: readonly string[]): string => messages.map(each => `  - "${each}"\n`).join('')
  return `fires:\n${list(fires)}silent:\n${list(SILENT)}`
}

function toSkill(description: string, body = BODY): string {
  return `---\nname: changelog\ndescription: ${description}\n---\n${body}`
}

const wordsOf = (text: string): ReadonlySet<string> => new Set(text.toLowerCase().match(/[a-z]{4,}/g))

/** A model that loads the changelog skill if the message has a word of its description, and no word of what it excludes. */
function reply(_call: number, { messages }: { messages: readonly { content: unknown }[] }): ChatReply {
  const [system = '', message = ''] = messages.map(({ content }) => JSON.stringify(content))
  const description = /<name>changelog<.*?<description>(.*?)<\/description>/.exec(system)?.[1] ?? ''
  const [wanted, excluded] = description.split('Do not use').map(wordsOf)
  const words = [...wordsOf(message)]
  const isMeant = words.some(word => wanted?.has(word))
  const isExcluded = words.some(word => excluded?.has(word) && !wanted?.has(word))
  return isMeant && !isExcluded
    ? { kind: 'tool', name: 'skill', input: { name: 'changelog' } }
    : { kind: 'text', text: 'Done.' }
}

/** The last line about a mistake that needs a person. */
const UNFIXED = /head\.md" does not exist[^\n]*\n {2}fix: .*/

/** What was typed or saved, and what the pane showed then. */
interface Step {
  readonly title: string
  readonly language: 'console' | 'markdown'
  readonly text: string
}

/** The lines of the offline agent, which takes its turns at any time. */
const OF_THE_AGENT = /^(?:turn \d| {2}(?:model call|calls|agent:|told|session|\+\d)|$).*\n?/gm

/** A person at a terminal with `stoke dev` in one pane and a shell in the other. */
class Walk implements AsyncDisposable {
  readonly steps: Step[] = []
  readonly folder: TemporaryFolder
  readonly server: OpenAiServer
  readonly shell: Pane
  readonly dev: Pane
  readonly #tmux: Tmux

  private constructor(folder: TemporaryFolder, server: OpenAiServer, tmux: Tmux) {
    this.folder = folder
    this.server = server
    this.#tmux = tmux
    this.dev = tmux.first
    this.shell = tmux.split(folder.at('project'))
  }

  static async start(): Promise<Walk> {
    const folder = new TemporaryFolder()
    for (const name of ['home', 'project', 'bin']) mkdirSync(folder.at(name))
    symlinkSync(BIN, folder.at('bin/stoke'))
    const path = [folder.at('bin'), dirname(process.execPath), process.env['PATH']].join(delimiter)
    const env = {
      ...{ HOME: folder.at('home'), PATH: path, XDG_STATE_HOME: folder.at('home/state') },
      ...{ EDITOR: '', VISUAL: '' },
    }
    const server = await OpenAiServer.start(reply)
    return new Walk(folder, server, new Tmux({ cwd: folder.at('project'), env }))
  }

  /** Types a command into the shell. */
  async types(title: string, command: string, answer?: string): Promise<string> {
    const text = await this.shell.runs(command, answer)
    this.#record(title, 'console', text)
    return text
  }

  /** Tests the skill with the model. */
  async tests(title: string, ...options: readonly string[]): Promise<string> {
    const words = ['--model test --base-url', this.server.baseUrl, ...options]
    return await this.types(title, `stoke test changelog ${words.join(' ')}`)
  }

  /** Saves a file, or presses a key, and waits until `dev` has shown the patterns. */
  async sees(title: string, act: () => void, ...patterns: readonly RegExp[]): Promise<string> {
    const from = this.dev.text.length
    act()
    for (const pattern of patterns) await this.dev.shows(pattern, from)
    const text = this.dev.text.slice(from)
    this.#record(title, 'console', text.replace(OF_THE_AGENT, ''))
    return text
  }

  shows(title: string, text: string): void {
    this.#record(title, 'markdown', text)
  }

  save(path: string, text: string): void {
    this.folder.write(`project/skills/changelog/${path}`, text)
  }

  #record(title: string, language: Step['language'], text: string): void {
    this.steps.push({ title, language, text: text.trim().replaceAll(this.folder.path, '/home/ann') })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#tmux[Symbol.dispose]()
    await this.server[Symbol.asyncDispose]()
    this.folder[Symbol.dispose]()
  }
}

test.skipIf(!hasTmux)(
  'an author creates, fixes, tests, compares and restores a skill in a terminal',
  async () => {
    await using walk = await Walk.start()
    await walk.types(
      'Create a skill.',
      'stoke new changelog --what "writes the changelog of a release" --when "a release is made"',
    )
    walk.dev.type('stoke dev --port 0 --no-agent')
    await walk.dev.shows(/keys: /)
    walk.save('references/format.md', 'One line for each change.\n')
    await walk.dev.shows(/changelog (?:changed|added)/)

    const broken = toSkill(
      FIRST,
      '# Changelog\n\n1. Read `~/.claude/skills/changelog/references/format.md`.\n2. Copy `assets/head.md`.\n',
    )
    walk.shows('Add `references/format.md` with one line, and save `SKILL.md` with three mistakes.', broken)
    const findings = await walk.sees(
      '`stoke dev` shows them.',
      () => walk.save('SKILL.md', broken),
      /changelog (?:changed|added)/,
      UNFIXED,
    )
    expect(findings).toMatch(/not valid YAML/)
    expect(findings).toMatch(/exists only where one client installs the skill/)

    const fixed = await walk.sees(
      'Press `f`. It corrects what changes nothing that is served.',
      () => walk.dev.press('f'),
      /FIXED skills\/changelog\/SKILL\.md: 1 edit/,
      /changelog (?:changed|added)/,
      UNFIXED,
    )
    expect(fixed).not.toMatch(/not valid YAML/)
    await walk.sees(
      'Press `f` again. It shows an edit that changes what the model reads, and applies it at the next press.',
      () => walk.dev.press('f'),
      /press f again to apply it/,
    )
    await walk.sees(
      '',
      () => walk.dev.press('f'),
      /FIXED skills\/changelog\/SKILL\.md: 1 edit/,
      /changelog changed/,
      UNFIXED,
    )
    expect(readFileSync(walk.folder.at('project/skills/changelog/SKILL.md'), 'utf8')).toContain(
      'Read `references/format.md`.',
    )

    await walk.sees(
      'Correct the last mistake by hand.',
      () => walk.save('SKILL.md', toSkill(`"${FIRST}"`)),
      /changelog (?:changed|added)/,
    )
    expect(await walk.types('', 'stoke check changelog')).toMatch(/no findings/)
    await walk.sees(
      'Save twenty messages. `dev` compares their words with the description.',
      () => walk.save('evals/tests.yaml', toTests(FIRES)),
      /changelog (?:changed|added)/,
      /tests changelog: .* of 12 fires/,
    )

    expect(await walk.tests('Ask a model.')).toMatch(/changelog {2}14 of 20 .*20 asked, 0 known/)
    const silent = walk.server.requests.length
    expect(silent).toBe(20)

    walk.shows('Write a better description.', `description: "${BETTER}"`)
    walk.save('SKILL.md', toSkill(`"${BETTER}"`))
    expect(await walk.tests('', '--against last-good')).toMatch(
      /changelog {2}14 -> 19 of 20 against [0-9a-f]{8} .*20 asked/,
    )

    walk.save('SKILL.md', toSkill(`"${BETTER}"`, `${BODY}3. Sort the lines by importance.\n`))
    expect(await walk.tests('Edit the instructions. Nothing is asked again.')).toMatch(
      /19 of 20 .*0 asked, 20 known/,
    )

    walk.save('evals/tests.yaml', toTests([...FIRES, 'Note what is new in 2.5 for users']))
    expect(await walk.tests('Add one message. One is asked.')).toMatch(/20 of 21 .*1 asked, 20 known/)
    expect(walk.server.requests).toHaveLength(41)

    await walk.types(
      'Create a second skill that does nearly the same.',
      'stoke new release-notes --what "writes the release notes: what is new for users in a version or tag" --when "a release is announced"',
    )
    expect(await walk.types('', 'stoke collisions')).toMatch(/these fight {2}changelog .* and release-notes/)
    walk.save('SKILL.md', toSkill(`"${BETTER} For an announcement, use release-notes."`))
    expect(await walk.types('Name the other skill in the description.', 'stoke collisions')).toMatch(
      /settled {2}.*\n {2}changelog says: For an announcement, use release-notes/,
    )

    const restored = await walk.types('Go back.', 'stoke rollback changelog -1', 'y')
    expect(restored).toMatch(/its tests: 20 of 21 with test at/)

    const recorded = `${walk.steps.map(toMarkdown).join('')}\n`
    const page = readFileSync(PAGE, 'utf8')
    const [before = '', old = '', after = ''] = page.split(
      /(?<=<!-- recording -->\n)|(?=<!-- end of the recording -->)/,
    )
    if (process.env['RECORD_WALK'] !== undefined) writeFileSync(PAGE, before + recorded + after)
    else expect(normalize(old)).toBe(normalize(recorded))
  },
  60_000,
)

function toMarkdown({ title, language, text }: Step): string {
  return `${title === '' ? '' : `\n${title}\n`}\n${FENCE}${language}\n${text}\n${FENCE}\n`
}

/** Replaces what differs in each run. */
function normalize(text: string): string {
  return text
    .replace(/\b(?:[0-9a-f]{64}|[0-9a-f]{8})\b/g, 'DIGEST')
    .replace(/\d+ ms/g, 'N ms')
    .replace(/\d\d:\d\d:\d\d/g, 'CLOCK')
    .replace(/about [\d,]+ tokens/g, 'about N tokens')
    .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d/g, 'TIME')
}
