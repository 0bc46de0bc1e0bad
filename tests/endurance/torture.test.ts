import { appendFileSync, renameSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { toMessage } from '@skillstoke/core/internal'
import { expect, test } from 'vitest'
import { type DevProcess, startDev } from '../fixtures/dev.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'
import {
  type Absence,
  createSwappedSkills,
  LONGEST_ABSENCE_MS,
  type SwappedSkill,
  versionedCode,
  versionedText,
} from '../fixtures/swapped-skills.ts'

// Clients call tools while skills are saved, broken, fixed, moved, half-written, swapped by links and rewritten. For a
// long run: `npm run torture -- 300`.
const SECONDS = Number(process.env['SKILLSTOKE_TORTURE_SECONDS'] ?? 20)
const CLIENTS = 8
const SKILLS = ['t0', 't1', 't2', 't3', 't4']
const HALF_MS = 50
const UNREADABLE = /its newest text is unknown|could not be read within \d+ ms/
const TEXT_LINES = [/^START of (\d+)\.$/m, /^END of (\d+)\.$/m]
const CODE_LINES = [/says (\d+)/]
const OLD = /was saved before$/
/**
 * The runtime treats a half-written file as complete after this time. On a busy machine, a slow writer may need longer.
 */
const LONGEST_HALF_MS = 200

/** One skill, and the edits that are made to it. */
class Victim {
  readonly name: string
  readonly #folder: TemporaryFolder
  #directory: string
  #moves = 0
  #next = 0

  constructor(folder: TemporaryFolder, name: string) {
    this.#folder = folder
    this.name = name
    this.#directory = name
    folder.write(`${name}/SKILL.md`, versionedText(this.name, 0))
    folder.write(`${name}/scripts/say.mjs`, versionedCode(0))
  }

  /**
   * The last characters of each text that stayed half-written for too long. Readers may see such half-written texts.
   */
  readonly overslept: string[] = []
  readonly #actions: readonly (() => Promise<void>)[] = [
    async () => this.#replace('SKILL.md', versionedText(this.name, ++this.#next)),
    async () => this.#write('SKILL.md', versionedText(this.name, ++this.#next)),
    async () => await this.#writeHalf('SKILL.md', versionedText(this.name, ++this.#next)),
    async () => this.#replace('scripts/say.mjs', versionedCode(++this.#next)),
    async () => this.#write('scripts/say.mjs', versionedCode(++this.#next)),
    async () => await this.#writeHalf('scripts/say.mjs', versionedCode(++this.#next)),
    // The texts that these saves write are broken, so the last good revision stays served.
    async () => this.#write('SKILL.md', `---\nname: [${this.name}\n`),
    async () => this.#write('scripts/say.mjs', `import { defineCommand } from 'skillstoke/command'\n}}\n`),
    async () => {
      const target = `${this.name}-${++this.#moves}`
      renameSync(this.#folder.at(this.#directory), this.#folder.at(target))
      this.#directory = target
    },
  ]

  async act(): Promise<void> {
    await this.#actions[Math.floor(Math.random() * this.#actions.length)]?.()
  }

  /**
   * Saves a valid text and valid code for the last time. Returns the words that readers must then find in the text and
   * in the answer of the code.
   */
  finish(): { readonly text: string; readonly said: string } {
    const version = ++this.#next
    this.#replace('SKILL.md', versionedText(this.name, version))
    this.#replace('scripts/say.mjs', versionedCode(version))
    return { text: `END of ${version}.`, said: `says ${version}` }
  }

  #write(path: string, content: string): void {
    writeFileSync(this.#folder.at(this.#directory, path), content)
  }

  #replace(path: string, content: string): void {
    this.#write(`${path}.tmp`, content)
    renameSync(this.#folder.at(this.#directory, `${path}.tmp`), this.#folder.at(this.#directory, path))
  }

  /** Writes a file like a slow program: empties the file, writes a part of the text, and writes the rest later. */
  async #writeHalf(path: string, content: string): Promise<void> {
    const cut = content.indexOf(' ', content.length / 2)
    const start = performance.now()
    this.#write(path, content.slice(0, cut))
    await pause(HALF_MS)
    if (performance.now() - start > LONGEST_HALF_MS) this.overslept.push(content.slice(cut - 30, cut))
    appendFileSync(this.#folder.at(this.#directory, path), content.slice(cut))
  }
}

async function connect(dev: DevProcess, index: number): Promise<Client> {
  const mode = index % 2 === 0 ? 'auto' : 'legacy'
  const client = new Client({ name: `client-${index}`, version: '1' }, { versionNegotiation: { mode } })
  const requestInit = { headers: { authorization: `Bearer ${dev.token}` } }
  await client.connect(new StreamableHTTPClientTransport(dev.mcpUrl, { requestInit }))
  return client
}

/** An answer about a swapped skill that no reader may get. The times are those of the call. */
interface Fault extends Absence {
  readonly skill: SwappedSkill
  readonly what: string
  /** Whether the answer is whole, but has an older version than was saved before the call. */
  readonly isOld: boolean
}

interface Tally {
  calls: number
  /** Calls that failed because the newest text could not be read. Such an answer is honest, but must be rare. */
  refused: number
  readonly wrong: string[]
  readonly faults: Fault[]
}

/** Returns what is wrong with an answer about a swapped skill. `saved` is the newest version that was saved before the call. */
function findFault(answer: string, lines: readonly RegExp[], saved: number): string | undefined {
  const versions = lines.map(line => Number(line.exec(answer)?.[1]))
  const [version = Number.NaN] = versions
  if (versions.some(Number.isNaN)) return 'has no version'
  if (versions.some(each => each !== version)) return `mixes the versions ${versions.join(' and ')}`
  return version < saved ? `has version ${version}, but ${saved} was saved before` : undefined
}

/**
 * Whether a fault is allowed: if SKILL.md was missing for too long, or if a version was removed before a reader saw it.
 * In the second case, an answer has the version before, and instructions say so.
 */
function isExcused({ skill, from, to, isOld, what }: Fault): boolean {
  const absences = skill.absences.filter(absence => absence.from <= to && from <= absence.to)
  const isHonest = isOld && (what.includes('SKILL.md is missing') || !what.includes('START of'))
  return absences.some(absence => isHonest || absence.to - absence.from > LONGEST_ABSENCE_MS)
}

test(
  `no call of ${CLIENTS} clients in ${SECONDS} s fails, returns half of a text, or a text older than the call`,
  async () => {
    using folder = new TemporaryFolder()
    using outside = new TemporaryFolder()
    using state = new TemporaryFolder()
    const victims = SKILLS.map(name => new Victim(folder, name))
    const swapped = await createSwappedSkills(folder, outside)
    const args = ['--no-agent', '--link-root', outside.path]
    await using dev = await startDev({ root: folder.path, state: state.path, args })
    const clients = await Promise.all(Array.from({ length: CLIENTS }, (_, index) => connect(dev, index)))
    const end = performance.now() + SECONDS * 1_000
    const tally: Tally = { calls: 0, refused: 0, wrong: [], faults: [] }

    const call = async (client: Client, name: string, args: Record<string, unknown>): Promise<string> => {
      tally.calls++
      const answer = await client.callTool({ name, arguments: args }).then(
        result => {
          const text = (result.content as { text?: string }[]).map(each => each.text ?? '').join('\n')
          return result.isError === true ? `FAILED ${text}` : text
        },
        (thrown: unknown) => `FAILED ${toMessage(thrown)}`,
      )
      if (UNREADABLE.test(answer)) tally.refused++
      return answer
    }
    const check = (what: string, said: string, pattern: RegExp): void => {
      if (!pattern.test(said) && !UNREADABLE.test(said)) tally.wrong.push(`${what}: ${said.slice(0, 1_000)}`)
    }
    const compare = async (
      skill: SwappedSkill,
      ask: () => Promise<string>,
      lines: readonly RegExp[],
    ): Promise<void> => {
      const { saved } = skill
      const from = performance.now()
      const answer = await ask()
      const fault = findFault(answer, lines, saved)
      if (fault === undefined || UNREADABLE.test(answer)) return
      const what = `an answer about ${skill.name} ${fault}: ${answer.slice(0, 1_000)}`
      tally.faults.push({ skill, what, isOld: OLD.test(fault), from, to: performance.now() })
    }
    const load = async (client: Client, skill: SwappedSkill): Promise<void> =>
      await compare(skill, () => call(client, 'skill', { name: skill.name }), TEXT_LINES)
    const run = async (client: Client, skill: SwappedSkill): Promise<void> =>
      await compare(
        skill,
        () => call(client, 'run_skill_command', { skill: skill.name, command: 'say', input: {} }),
        CODE_LINES,
      )
    const list = async (client: Client): Promise<void> => {
      const from = performance.now()
      const answer = await call(client, 'skill', {})
      const isMissing = (name: string): boolean => !answer.includes(`- ${name}: `)
      for (const name of SKILLS.filter(isMissing))
        tally.wrong.push(`list without ${name}: ${answer.slice(0, 300)}`)
      for (const skill of swapped.filter(({ name }) => isMissing(name)))
        tally.faults.push({
          skill,
          what: `list without ${skill.name}`,
          isOld: false,
          from,
          to: performance.now(),
        })
    }
    const use = async (client: Client): Promise<void> => {
      while (performance.now() < end) {
        const skill = swapped[Math.floor(Math.random() * swapped.length)] as SwappedSkill
        await (Math.random() < 0.5 ? load : run)(client, skill)
        const victim = victims[Math.floor(Math.random() * victims.length)] as Victim
        const { name } = victim
        const kind = Math.floor(Math.random() * 3)
        if (kind === 0) check(`load ${name}`, await call(client, 'skill', { name }), /^END of \d+\.$/m)
        else if (kind === 1)
          check(
            `run ${name}`,
            await call(client, 'run_skill_command', { skill: name, command: 'say', input: {} }),
            /says \d+/,
          )
        else await list(client)
      }
    }
    const torture = async (victim: Victim | SwappedSkill): Promise<void> => {
      while (performance.now() < end) {
        await victim.act()
        await pause(Math.random() * 300)
      }
    }
    await Promise.all([...clients.map(use), ...[...victims, ...swapped].map(torture)])
    // In the end, every client gets the text and code of the last save.
    for (const victim of victims) {
      const { name } = victim
      const { text, said } = victim.finish()
      for (const client of clients) {
        await expect.poll(() => call(client, 'skill', { name })).toContain(text)
        await expect
          .poll(() => call(client, 'run_skill_command', { skill: name, command: 'say', input: {} }))
          .toContain(said)
      }
    }
    const { refused } = tally
    for (const skill of swapped)
      for (const client of clients) {
        await load(client, skill)
        await run(client, skill)
      }
    expect(tally.refused).toBe(refused)
    await Promise.all(clients.map(client => client.close()))
    const ends = victims.flatMap(({ overslept }) => overslept)
    const wrong = tally.wrong.filter(each => !ends.some(end => each.includes(end)))
    const faults = tally.faults.filter(fault => !isExcused(fault)).map(({ what }) => what)
    expect([wrong.length, wrong.slice(0, 10)]).toEqual([0, []])
    expect([faults.length, faults.slice(0, 10)]).toEqual([0, []])
    expect(Math.min(...swapped.map(({ saved }) => saved))).toBeGreaterThan(1)
    expect(tally.calls).toBeGreaterThan(SECONDS)
    expect(tally.refused).toBeLessThan(tally.calls / 2)
  },
  SECONDS * 1_000 + 60_000,
)
