import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import type { Held } from '../fixtures/decider.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

const KILLS = 200
const WORKERS = 4
const STEPS = ['enable', 'disable', 'pin', 'approve', 'rollback']

interface Line {
  readonly kind: string
  readonly held: Held
}

/** Runs a process that makes decisions, and kills it at its n-th acknowledgement. Returns all its output. */
async function decideAndDie(folder: TemporaryFolder, acknowledgements: number): Promise<readonly Line[]> {
  const child = spawn(process.execPath, [resolve('tests/fixtures/decider.ts'), folder.path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const said: Line[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    said.push(JSON.parse(line) as Line)
    // The first line reports the state at the start and acknowledges nothing.
    if (said.length === acknowledgements + 1) child.kill('SIGKILL')
  }
  await exited
  return said
}

test(`a decision survives kill -9 right after its acknowledgement, ${KILLS} times`, async () => {
  const killedAt = new Map<string, number>()
  const worker = async (number: number): Promise<void> => {
    using folder = new TemporaryFolder()
    for (const path of ['own/off', 'own/pinned', 'own/back', 'team/reviewed']) folder.writeSkill(path)
    let last: Line | undefined
    for (let kill = 0; kill < KILLS / WORKERS; kill++) {
      const said = await decideAndDie(folder, ((kill * 3 + number) % 8) + 1)
      // The decision after the last acknowledgement may or may not be stored. A decision affects only one of the four
      // skills.
      if (last !== undefined) expect(toComparable(said[0]?.held, last)).toEqual(toComparable(last.held, last))
      last = said.at(-1)
      killedAt.set(last?.kind ?? '', (killedAt.get(last?.kind ?? '') ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: WORKERS }, (_, number) => worker(number)))
  // For each kind of decision, several kills must happen right after such a decision.
  for (const step of STEPS) expect(killedAt.get(step) ?? 0).toBeGreaterThan(5)
}, 300_000)

/** Returns the state without the fields that the next decision may have changed before it was acknowledged. */
function toComparable(held: Held | undefined, { kind }: Line): Partial<Held> | undefined {
  if (held === undefined) return undefined
  const { disabled, pinned, approved, rolledBack } = held
  if (kind === 'rollback') return { pinned, approved, rolledBack }
  if (kind === 'enable' || kind === 'disable') return { disabled, approved, rolledBack }
  return kind === 'pin' ? { disabled, pinned, rolledBack } : { disabled, pinned, approved }
}
