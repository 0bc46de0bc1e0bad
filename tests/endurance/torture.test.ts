import { appendFileSync, renameSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { type DevProcess, startDev } from '../fixtures/dev.ts'
import { commandText } from '../fixtures/scripts.ts'
import { skillText, TemporaryFolder } from '../fixtures/skill-folder.ts'

// Clients call tools while skills are saved, broken, fixed, moved and half-written. For a long run: `npm run torture --
// 300`.
const SECONDS = Number(process.env['SKILLSTOKE_TORTURE_SECONDS'] ?? 20)
const CLIENTS = 8
const SKILLS = ['t0', 't1', 't2', 't3', 't4']
const HALF_MS = 50
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
    folder.write(`${name}/SKILL.md`, this.#textOf(0))
    folder.write(`${name}/scripts/say.mjs`, this.#codeOf(0))
  }

  /**
   * The last characters of each text that stayed half-written for too long. Readers may see such half-written texts.
   */
  readonly overslept: string[] = []
  readonly #actions: readonly (() => Promise<void>)[] = [
    async () => this.#replace('SKILL.md', this.#textOf(++this.#next)),
    async () => this.#write('SKILL.md', this.#textOf(++this.#next)),
    async () => await this.#writeHalf('SKILL.md', this.#textOf(++this.#next)),
    async () => this.#replace('scripts/say.mjs', this.#codeOf(++this.#next)),
    async () => this.#write('scripts/say.mjs', this.#codeOf(++this.#next)),
    async () => await this.#writeHalf('scripts/say.mjs', this.#codeOf(++this.#next)),
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
    this.#replace('SKILL.md', this.#textOf(version))
    this.#replace('scripts/say.mjs', this.#codeOf(version))
    return { text: `END of ${version}.`, said: `says ${version}` }
  }

  #textOf(version: number): string {
    const lines = Array.from({ length: 5 + (version % 20) }, (_, line) => `Line ${line}.`)
    return skillText(this.name, { body: [...lines, `END of ${version}.`].join('\n') })
  }

  #codeOf(version: number): string {
    return `${commandText('say', `return 'says ${version}'`)}${'// filler\n'.repeat(version % 20)}`
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

interface Tally {
  calls: number
  readonly wrong: string[]
}

test(
  `no call of ${CLIENTS} clients in ${SECONDS} s fails or returns half of a text`,
  async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    const victims = SKILLS.map(name => new Victim(folder, name))
    await using dev = await startDev({ root: folder.path, state: state.path, args: ['--no-agent'] })
    const clients = await Promise.all(Array.from({ length: CLIENTS }, (_, index) => connect(dev, index)))
    const end = performance.now() + SECONDS * 1_000
    const tally: Tally = { calls: 0, wrong: [] }

    const call = async (client: Client, name: string, args: Record<string, unknown>): Promise<string> => {
      tally.calls++
      const result = await client.callTool({ name, arguments: args })
      const text = (result.content as { text?: string }[]).map(each => each.text ?? '').join('\n')
      return result.isError === true ? `FAILED ${text}` : text
    }
    const check = (what: string, said: string, pattern: RegExp): void => {
      if (!pattern.test(said)) tally.wrong.push(`${what}: ${said.slice(0, 1_000)}`)
    }
    const use = async (client: Client): Promise<void> => {
      while (performance.now() < end) {
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
        else {
          const list = await call(client, 'skill', {})
          for (const each of SKILLS)
            if (!list.includes(`- ${each}: `)) tally.wrong.push(`list without ${each}: ${list.slice(0, 300)}`)
        }
      }
    }
    const torture = async (victim: Victim): Promise<void> => {
      while (performance.now() < end) {
        await victim.act()
        await pause(Math.random() * 300)
      }
    }
    await Promise.all([...clients.map(use), ...victims.map(torture)])
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
    await Promise.all(clients.map(client => client.close()))
    const ends = victims.flatMap(({ overslept }) => overslept)
    const wrong = tally.wrong.filter(each => !ends.some(end => each.includes(end)))
    expect([wrong.length, wrong.slice(0, 10)]).toEqual([0, []])
    expect(tally.calls).toBeGreaterThan(SECONDS)
  },
  SECONDS * 1_000 + 60_000,
)
