import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { follow, until } from './fixtures/follow.ts'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'

interface Told {
  readonly digest: string
  readonly skills: number
  readonly mode: string
}

class Follower implements AsyncDisposable {
  readonly process: ChildProcess
  readonly told: Told[] = []
  readonly #waiting = new Set<() => void>()

  constructor(path: string) {
    this.process = fork(resolve('tests/fixtures/follower.ts'), [path], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.process.on('message', (message: Told) => {
      this.told.push(message)
      for (const check of this.#waiting) check()
    })
  }

  async until(isSo: (told: Told) => boolean, patienceMs = 25_000): Promise<Told> {
    const { promise, resolve: done, reject } = Promise.withResolvers<Told>()
    const check = (): void => {
      const last = this.told.at(-1)
      if (last !== undefined && isSo(last)) done(last)
    }
    this.#waiting.add(check)
    const timer = setTimeout(
      () => reject(new Error(`timed out; last report: ${JSON.stringify(this.told.at(-1))}`)),
      patienceMs,
    )
    check()
    return await promise.finally(() => {
      clearTimeout(timer)
      this.#waiting.delete(check)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.process.kill('SIGCONT')
    this.process.kill('SIGKILL')
    if (this.process.exitCode === null && this.process.signalCode === null) await once(this.process, 'exit')
  }
}

/** Scans the folder without any cache and returns the digest. */
async function digestOf(path: string): Promise<string> {
  await using skills = await follow(path, { watching: 'off' })
  return skills.current.digest
}

test('a process that is suspended during 25,000 changes finds all of them after it resumes', {
  timeout: 90_000,
}, async () => {
  using folder = new TemporaryFolder()
  for (let i = 0; i < 25; i++) folder.writeSkill(`skill-${i}`)
  await using follower = new Follower(folder.path)
  await follower.until(told => told.skills === 25)
  follower.process.kill('SIGSTOP')
  // The kernel queues only 16,384 events, so the events of the last edits are lost.
  for (let i = 0; i < 25; i++) {
    mkdirSync(folder.at(`skill-${i}/references`))
    for (let j = 0; j < 500; j++) {
      writeFileSync(folder.at(`skill-${i}/note`), `${j}`)
      rmSync(folder.at(`skill-${i}/note`))
    }
  }
  for (let i = 0; i < 25; i++) {
    writeFileSync(folder.at(`skill-${i}/references/late.md`), 'late')
    writeFileSync(
      folder.at(`skill-${i}/SKILL.md`),
      skillText(`skill-${i}`, { description: 'Changed while suspended.' }),
    )
  }
  const expected = await digestOf(folder.path)
  follower.process.kill('SIGCONT')
  const told = await follower.until(each => each.digest === expected)
  expect(told.skills).toBe(25)
  folder.writeSkill('after')
  await follower.until(each => each.skills === 26)
})

test('20 git checkouts under load publish only generations that match a whole commit', {
  timeout: 180_000,
}, async () => {
  using folder = new TemporaryFolder()
  const git = (...args: string[]): void => {
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], {
      cwd: folder.path,
      stdio: 'ignore',
    })
  }
  git('init', '--initial-branch=a')
  const writeTree = (branch: string): void => {
    for (let i = 0; i < 100; i++) {
      folder.writeSkill(`skills/skill-${i}`, {
        description: `Of branch ${branch}.`,
        body: `${branch} `.repeat(500),
      })
      for (let j = 0; j < 4; j++)
        folder.write(`skills/skill-${i}/references/${j}.md`, `${branch} ${j}\n`.repeat(100 + j))
    }
  }
  writeTree('a')
  git('add', '.')
  git('commit', '-m', 'a')
  git('checkout', '-b', 'b')
  writeTree('b')
  git('commit', '-am', 'b')
  const ofB = await digestOf(folder.at('skills'))
  git('checkout', 'a')
  const ofA = await digestOf(folder.at('skills'))
  expect(ofA).not.toBe(ofB)

  await using skills = await follow(folder.at('skills'))
  const seen = new Set<string>()
  skills.subscribe(({ generation }) => {
    seen.add(generation.digest)
  })
  const load = spawn(process.execPath, ['-e', 'for (;;) Math.sqrt(Math.random())'], { stdio: 'ignore' })
  try {
    for (let i = 0; i < 20; i++) {
      const checkout = spawn('git', ['checkout', i % 2 === 0 ? 'b' : 'a'], {
        cwd: folder.path,
        stdio: 'ignore',
      })
      // A call of fresh() during the checkout must not return a mixture of two commits.
      const asked = skills.fresh().then(generation => seen.add(generation.digest))
      await once(checkout, 'exit')
      await asked
      const expected = i % 2 === 0 ? ofB : ofA
      await until(skills, 'the checkout is visible', generation => generation.digest === expected)
    }
    await until(skills, 'the last checkout is visible', generation => generation.digest === ofA)
  } finally {
    load.kill('SIGKILL')
    await once(load, 'exit')
  }
  expect([...seen].filter(digest => digest !== ofA && digest !== ofB)).toEqual([])
  expect(seen.size).toBe(2)
})

test('while the lock file of git exists, no skill is read, and the next scan reads all changes', async () => {
  using folder = new TemporaryFolder()
  execFileSync('git', ['init'], { cwd: folder.path, stdio: 'ignore' })
  folder.writeSkill('skills/pdf')
  await using skills = await follow(folder.at('skills'))
  writeFileSync(folder.at('.git/index.lock'), '')
  folder.writeSkill('skills/pdf', { description: 'Half of the checkout.' })
  const numbers: number[] = []
  const asked = skills.fresh().then(generation => numbers.push(generation.number))
  // These edits of a folder outside git take longer than the settle time. After these edits, only the lock file delays
  // the read.
  using elsewhere = new TemporaryFolder()
  await using neighbour = await follow(elsewhere.path)
  for (let i = 0; i < 5; i++) {
    elsewhere.writeSkill('clock', { description: `Tick ${i}.` })
    await until(
      neighbour,
      'the clock ticks',
      generation => generation.find('clock')?.description === `Tick ${i}.`,
    )
  }
  expect(numbers).toEqual([])
  expect(skills.current.get('pdf').description).not.toContain('Half')
  folder.writeSkill('skills/pdf', { description: 'The whole checkout.' })
  rmSync(folder.at('.git/index.lock'))
  await asked
  expect(skills.current.get('pdf').description).toBe('The whole checkout.')
})

test('a lock file that a killed git left behind does not delay reads', { timeout: 10_000 }, async () => {
  using folder = new TemporaryFolder()
  execFileSync('git', ['init'], { cwd: folder.path, stdio: 'ignore' })
  folder.writeSkill('skills/pdf')
  writeFileSync(folder.at('.git/index.lock'), '')
  utimesSync(folder.at('.git/index.lock'), new Date(Date.now() - 60_000), new Date(Date.now() - 60_000))
  await using skills = await follow(folder.at('skills'))
  folder.writeSkill('skills/pdf', { description: 'Edited.' })
  expect((await skills.fresh()).get('pdf').description).toBe('Edited.')
})
