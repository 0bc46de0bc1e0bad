import { expect, test } from 'vitest'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import type { Digest } from '../skill/digest.ts'
import { FileSource } from '../source/file-source.ts'
import { NO_SETTLE } from '../source/settle.ts'
import { MemorySkillStore } from '../store/memory-skill-store.ts'
import type { AdmissionPolicy } from './admission.ts'

const text = (name: string, description: string): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\nBody.\n`

test('if a rejection arrives during a commit, the earlier revision of the rejected folder is served', async () => {
  const files = new MemoryFileSystem({ '/skills/a/SKILL.md': text('a', 'First.') })
  let first: Digest | undefined
  let isRejected = false
  const admission: AdmissionPolicy = {
    admit: ({ skill }) => {
      // Another process rejects the skill "a" between two reads of the decisions.
      if (skill.name === 'b') queueMicrotask(() => (isRejected = true))
      const isHeld = isRejected && skill.name === 'a' && skill.revision !== first
      return isHeld ? { kind: 'hold', reason: 'rejected' } : { kind: 'admit' }
    },
    standing: ({ location }) =>
      location === 'a' ? { isRevoked: revision => isRejected && revision !== first } : undefined,
  }
  const source = new FileSource({ fileSystem: files, root: '/skills', label: 'skills', watching: 'off' })
  await using skills = await createSkillRuntime({
    sources: [source],
    review: { admission },
    tuning: { settle: NO_SETTLE },
  })
  first = skills.current.get('a').revision
  files.write('/skills/a/SKILL.md', text('a', 'Second.'))
  await skills.reload()
  expect(skills.current.get('a').description).toBe('Second.')
  files.write('/skills/a/SKILL.md', text('a', 'Third.'))
  files.write('/skills/b/SKILL.md', text('b', 'New.'))
  await skills.reload()
  expect(isRejected).toBe(true)
  expect(skills.current.find('a')?.description).toBe('First.')
})

test('after a rejection, the earlier revision is served even if another process has half-written notes', async () => {
  const files = new MemoryFileSystem({ '/skills/a/SKILL.md': text('a', 'First.') })
  let torn: Digest | undefined
  /** Simulates a store in which another process is writing notes: both notes about a folder contain the same revision. */
  class SharedStore extends MemorySkillStore {
    override getRef(name: string): Digest | undefined {
      return torn !== undefined && /^\["(?:last-good|earlier)"/.test(name) ? torn : super.getRef(name)
    }
  }
  const source = new FileSource({ fileSystem: files, root: '/skills', label: 'skills', watching: 'off' })
  await using skills = await createSkillRuntime({
    sources: [source],
    state: { store: new SharedStore() },
    tuning: { settle: NO_SETTLE },
  })
  files.write('/skills/a/SKILL.md', text('a', 'Second.'))
  await skills.reload()
  torn = skills.current.get('a').revision
  await skills.review.reject('a')
  expect(skills.current.find('a')?.description).toBe('First.')
})

test('a start with known folders reads fewer than four notes per folder and writes no notes', async () => {
  const asked = { read: 0, noted: 0 }
  class CountingStore extends MemorySkillStore {
    override getRef(name: string): Digest | undefined {
      asked.read++
      return super.getRef(name)
    }
    override setRef(name: string, revision: Digest | undefined): void {
      asked.noted++
      super.setRef(name, revision)
    }
  }
  const store = new CountingStore()
  const names = Array.from({ length: 50 }, (_, index) => `skill-${index}`)
  const start = async (): Promise<number> => {
    const fileSystem = new MemoryFileSystem(
      Object.fromEntries(names.map(name => [`/skills/${name}/SKILL.md`, text(name, 'Does it.')])),
    )
    const source = new FileSource({ fileSystem, root: '/skills', label: 'skills', watching: 'off' })
    await using skills = await createSkillRuntime({ sources: [source], state: { store } })
    return skills.current.list().length
  }
  expect(await start()).toBe(names.length)
  expect(asked.noted).toBeGreaterThan(names.length)
  asked.read = 0
  asked.noted = 0
  expect(await start()).toBe(names.length)
  expect(asked.noted).toBe(0)
  expect(asked.read).toBeLessThan(4 * names.length)
})
