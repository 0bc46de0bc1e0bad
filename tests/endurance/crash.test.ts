import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { openCrashRuntime } from '../fixtures/crash-runtime.ts'
import { GitRepository } from '../fixtures/git-repository.ts'
import { skillText, TemporaryFolder } from '../fixtures/skill-folder.ts'

const CRASHES = 40

/**
 * Runs the process, and kills it either after the given time or after a complete round. Returns the complete output
 * lines of the process.
 */
async function crash(
  folder: TemporaryFolder,
  end: { afterMs: number } | 'a round',
): Promise<readonly string[]> {
  const child = spawn(process.execPath, [resolve('tests/fixtures/crasher.ts'), folder.path], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  let failure = ''
  const begun = Promise.withResolvers<void>()
  const through = Promise.withResolvers<void>()
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString()
    if (said.startsWith('ready\n')) begun.resolve()
    if (said.includes('rolled back\n')) through.resolve()
  })
  child.stderr.on('data', (chunk: Buffer) => (failure += chunk.toString()))
  const ended = new Promise<void>(done => child.once('exit', () => done()))
  await Promise.race([begun.promise, ended])
  await Promise.race([
    ended,
    end === 'a round' ? through.promise : new Promise(done => setTimeout(done, end.afterMs)),
  ])
  child.kill('SIGKILL')
  await ended
  expect(failure).toBe('')
  // Leave out the last line, because the kill may have cut it off.
  return said.split('\n').slice(0, -1)
}

test('after kill -9 during a fetch, capture, approval or rollback, every approval is kept and only approved revisions are served', async () => {
  using folder = new TemporaryFolder()
  const repository = new GitRepository(folder.at('repository.git'))
  repository.commit({ 'pdf/SKILL.md': skillText('pdf', { body: 'Version first.' }) })
  const versions = ['one', 'two'] as const
  for (const version of versions) {
    for (const name of ['SKILL.md', 'x.md', 'y.md', 'z.md']) {
      mkdirSync(folder.at('own/own'), { recursive: true })
      const content =
        name === 'SKILL.md' ? skillText('own', { body: `Version ${version}.` }) : `Version ${version}.`
      writeFileSync(folder.at(`own/own/${name}`), content)
    }
    await (await openCrashRuntime(folder.path)).close()
  }
  // Spread the crashes over the duration of two rounds. This duration depends on the machine.
  const start = performance.now()
  await crash(folder, 'a round')
  const roundMs = performance.now() - start
  let approved: string | undefined
  let rounds = 0
  for (let i = 0; i < CRASHES; i++) {
    const said = await crash(folder, { afterMs: ((i * 37) % CRASHES) * ((2 * roundMs) / CRASHES) })
    approved = said.findLast(line => line.startsWith('approved '))?.slice('approved '.length) ?? approved
    rounds += said.filter(line => line === 'rolled back').length
    await using skills = await openCrashRuntime(folder.path)
    const served = skills.current.find('pdf')
    const decisions = await skills.review.decisions('team/pdf')
    const allowed = decisions.flatMap(each => (each.kind === 'approve' ? each.revision : []))
    if (approved !== undefined) expect(allowed).toContain(approved)
    if (allowed.length > 0) {
      // If the process was killed before it served the newest approved revision, the previous revision is served.
      expect(allowed.slice(-2)).toContain(served?.revision)
    } else expect(served).toBeUndefined()
    if (served !== undefined) {
      expect(await skills.readBody(served)).not.toMatch(/unapproved/)
      for (const file of served.files)
        expect(await skills.readFile(served, file.path)).toHaveLength(file.size)
    }
    const own = skills.current.get('own')
    const texts = own.files.map(({ path }) => readFileSync(join(folder.at('own/own'), path), 'utf8'))
    const whole = versions.filter(version => texts.every(each => each.includes(`Version ${version}.`)))
    expect([own.files.length, whole.length]).toEqual([4, 1])
    expect(skills.status().map(({ lastError }) => lastError)).toEqual([undefined, undefined])
    expect(readdirSync(folder.at('own')).filter(name => name.startsWith('.tmp-'))).toEqual([])
  }
  // Without enough completed rounds, the crashes test nothing.
  expect(rounds).toBeGreaterThan(5)
}, 300_000)
