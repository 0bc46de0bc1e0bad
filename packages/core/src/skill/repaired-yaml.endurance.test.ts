import { expect, test } from 'vitest'
import { DEFAULT_LIMITS } from './limits.ts'
import { parseSkill } from './parse-skill.ts'

test('readRepaired() reads 20,000 faulty fields of each kind in linear time', () => {
  const limits = { ...DEFAULT_LIMITS, maxFrontmatterBytes: 1e7, maxSkillFileBytes: 1e7 }
  const kinds: readonly ((index: number) => string)[] = [
    index => `k${index}: [a] b`,
    index => `k${index}: "open`,
    () => 'same: *x',
    index => (index === 0 ? 'metadata:' : `  k${index}: @b`),
    index => (index === 0 ? 'list:' : '  - @b: ['),
    index => (index === 0 ? 'license: a: b' : ' stray: ['),
    index => (index === 0 ? 'metadata:' : `\tk${index}: [b`),
  ]
  for (const kind of kinds) {
    const fields = Array.from({ length: 20_000 }, (_, index) => kind(index)).join('\n')
    // An algorithm with quadratic running time would take minutes.
    const text = `---\nname: pdf\ndescription: Reads PDF files.\n${fields}\n---\nbody`
    const outcome = parseSkill(new TextEncoder().encode(text), { limits })
    expect(outcome.ok && outcome.value.description).toContain('Reads PDF files.')
  }
})
