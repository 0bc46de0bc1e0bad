import { createHook } from 'node:async_hooks'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../../../../tests/fixtures/skill-folder.ts'
import { createSkillRuntime } from '../index.ts'
import { directory, nodeHasher } from '../node-entry.ts'
import type { Hasher } from '../source-entry.ts'

/** Simulates expensive work: blocks the event loop for one millisecond per file. */
const slowHasher: Hasher = {
  sha256(data) {
    const end = performance.now() + 1
    while (performance.now() < end);
    return nodeHasher.sha256(data)
  },
}

test('a warm disk is read synchronously, even if other work blocks the event loop', async () => {
  using folder = new TemporaryFolder()
  for (let i = 0; i < 300; i++) folder.writeSkill(`skill-${i}`)
  let pooled = 0
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'FSREQCALLBACK' || type === 'FSREQPROMISE') pooled++
    },
  }).enable()
  try {
    await using skills = await createSkillRuntime({
      sources: [directory(folder.path)],
      tuning: { hasher: slowHasher },
    })
    expect(skills.current.list()).toHaveLength(300)
    expect(pooled).toBeLessThan(100)
  } finally {
    hook.disable()
  }
})
