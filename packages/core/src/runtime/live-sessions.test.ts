import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { openMemorySkills } from '../../../../tests/fixtures/memory-skills.ts'
import { SkillError } from '../errors.ts'
import type { SkillRuntime } from './skill-runtime.ts'

describe('a session id', () => {
  test('a session id is refused while an open session has the same id', async () => {
    await using it = await openMemorySkills(['pdf'])
    const session = it.skills.session({ id: 'chat-1' })
    expect(() => it.skills.session({ id: 'chat-1' })).toThrow(
      expect.objectContaining({
        code: 'DUPLICATE_SESSION',
        message:
          'the session "chat-1" is already open; close() it first, pass its stored state as "resume", or use another id',
        data: { id: 'chat-1' },
      }),
    )
    expect(it.skills.sessions()).toEqual([session])
    session.close()
    const next = it.skills.session({ id: 'chat-1' })
    session.close()
    expect(it.skills.sessions()).toEqual([next])
  })

  test('a session that resumes the stored state takes over the id, and the old session is closed', async () => {
    await using it = await openMemorySkills(['pdf'])
    const dropped = it.skills.session({ id: 'chat-1' })
    const child = dropped.child({ id: 'helper' })
    const resumed = it.skills.session({ id: 'chat-1', resume: dropped.state() })
    expect([dropped.isClosed, child.isClosed, it.skills.sessions()]).toEqual([true, true, [resumed]])
    await expect(dropped.offer()).rejects.toMatchObject({ code: 'CLOSED' })
  })

  test('a session id can be used again after the garbage collector removed an unclosed session', async () => {
    await using it = await openMemorySkills(['pdf'])
    drop(it.skills)
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    for (let round = 0; round < 100 && !canOpen(it.skills); round++) {
      await setImmediate()
      collect()
    }
    expect(it.skills.sessions()).toHaveLength(1)
  })

  test.each([
    ['', 'is ""'],
    [' \t', 'is " \\t"'],
    [undefined, 'is a value of type undefined'],
    [null, 'is null'],
    [7, 'is a value of type number'],
    ['a\nb', '"a\\nb" has a control character'],
    ['a\u2028b', 'has a control character'],
    ['a\ud800', 'has a control character'],
    ['x'.repeat(257), `"${'x'.repeat(40)}..." has 257 characters`],
  ])('%j is refused', async (id, message) => {
    await using it = await openMemorySkills([])
    const parent = it.skills.session({ id: 'parent' })
    for (const open of [
      () => it.skills.session({ id: id as string }),
      () => parent.child({ id: id as string }),
    ])
      expect(open).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(message) }),
      )
  })

  test.each(['a', 'x'.repeat(256), 'Kunde 4711/änderung 🙂'])('%s is accepted', async id => {
    await using it = await openMemorySkills([])
    expect(it.skills.session({ id }).id).toBe(id)
  })
})

/** Opens a session and keeps no reference to it. */
function drop(skills: SkillRuntime): void {
  skills.session({ id: 'dropped' })
}

function canOpen(skills: SkillRuntime): boolean {
  try {
    skills.session({ id: 'dropped' })
    return true
  } catch (thrown) {
    if (SkillError.isInstance(thrown, 'DUPLICATE_SESSION')) return false
    throw thrown
  }
}
