import { describe, expect, test } from 'vitest'
import { linesOf, loadSkill, openMemorySkills } from '../../../../tests/fixtures/memory-skills.ts'
import { createAuthorTools } from '../authoring/author-tools.ts'
import type { SkillScope } from '../catalog/scope.ts'

describe('SkillSession.child()', () => {
  const NAMES = ['billing-eu', 'support-eu', 'support-us', 'support-x']
  const scopes: readonly (readonly [
    parent: SkillScope | undefined,
    child: SkillScope | undefined,
    listed: string[],
  ])[] = [
    [undefined, undefined, NAMES],
    [undefined, { include: ['*-eu'] }, ['billing-eu', 'support-eu']],
    [{ include: ['support-*'] }, undefined, ['support-eu', 'support-us', 'support-x']],
    [{ include: ['support-*'] }, { include: ['*-eu'] }, ['support-eu']],
    [{ include: ['support-eu'] }, { include: ['support-us'] }, []],
    [{ include: ['support-*'] }, { include: ['*'] }, ['support-eu', 'support-us', 'support-x']],
    [{ exclude: ['support-x'] }, { exclude: ['billing-*'] }, ['support-eu', 'support-us']],
    [{ exclude: ['support-x'] }, { include: ['support-*'] }, ['support-eu', 'support-us']],
    [{ include: ['support-*'] }, { exclude: ['support-x'] }, ['support-eu', 'support-us']],
    [{ include: [] }, { include: [] }, NAMES],
    [{ outer: { include: ['support-*'] } }, { outer: { include: ['*-eu'] } }, ['support-eu']],
  ]

  test.each(scopes)(
    'the child sees only the skills that both the parent scope %j and its own scope %j include',
    async (parent, own, listed) => {
      await using it = await openMemorySkills(NAMES)
      const session = it.skills.session({ id: 'p', ...(parent && { scope: parent }) })
      const child = session.child({ id: 'c', ...(own && { scope: own }) })
      expect(child.catalogDetails.listed).toEqual(listed)
      for (const name of NAMES)
        expect((await loadSkill(child, name)).includes(`Body of ${name}.`)).toBe(listed.includes(name))
      // The session of a grandchild cannot see more skills than its parent.
      expect(child.child({ id: 'g', scope: { include: ['*'] } }).catalogDetails.listed).toEqual(listed)
    },
  )

  test('the child inherits all options of its parent that are not given', async () => {
    await using it = await openMemorySkills(['pdf'])
    const parent = it.skills.session({
      id: 'p',
      delivery: 'rebuild',
      applyAt: 'turn',
      allowedTools: 'enforce',
      skillToolName: 'activate_skill',
      describeUnknownSkill: name => `nothing called ${name}`,
    })
    const child = parent.child({ id: 'c' })
    expect([child.parent, child.delivery, child.tools[0]?.name]).toEqual([
      parent,
      'rebuild',
      'activate_skill',
    ])
    expect(await loadSkill(child, 'xyz')).toBe('nothing called xyz')
    child.beginTurn()
    await child.update()
    it.write('maps')
    await child.update()
    expect(child.catalog).not.toContain('maps')
    const other = parent.child({ id: 'd', delivery: 'append', skillToolName: 'skill' })
    expect([other.delivery, other.tools[0]?.name]).toEqual(['append', 'skill'])
  })

  test('the child has its own ledger and notices, separate from those of its parent', async () => {
    await using it = await openMemorySkills(['pdf'])
    const parent = it.skills.session({ id: 'p' })
    const child = parent.child({ id: 'c' })
    await loadSkill(child, 'pdf')
    expect(parent.ledger.entries()).toEqual([])
    it.write('maps')
    expect(linesOf(await child.update())).toEqual(['- added: maps: Does maps.'])
    expect(linesOf(await parent.update())).toEqual(['- added: maps: Does maps.'])
    expect(await child.update()).toBeUndefined()
  })

  test('the child sees the skills that its parent wrote, and the parent sees the skills that the child wrote', async () => {
    await using it = await openMemorySkills(['pdf'])
    const parent = it.skills.session({ id: 'p' })
    const child = parent.child({ id: 'c' })
    const grandchild = child.child({ id: 'g' })
    const other = it.skills.session({ id: 'o' })
    expect(new Set([parent, child, grandchild].map(({ conversation }) => conversation)).size).toBe(1)
    const write = async (conversation: string, name: string): Promise<void> => {
      const [tool] = createAuthorTools(it.skills.writer(), { author: { conversation } })
      const content = `---\nname: ${name}\ndescription: Is own.\n---\nOwn.\n`
      const result = await tool?.execute({ skill_name: name, relative_path: 'SKILL.md', content })
      expect(result?.isError).toBe(false)
    }
    await write(parent.conversation, 'of-parent')
    expect(linesOf(await grandchild.update())).toEqual(['- added: of-parent: Is own.'])
    await write(child.conversation, 'of-child')
    expect(await loadSkill(parent, 'of-child')).toContain('Own.')
    expect(await loadSkill(child, 'of-parent')).toContain('Own.')
    expect(await other.update()).toBeUndefined()
  })

  test('the child is closed together with its parent, or by its own close()', async () => {
    await using it = await openMemorySkills(['pdf'])
    const parent = it.skills.session({ id: 'p' })
    const [one, two] = [parent.child({ id: 'one' }), parent.child({ id: 'two' })]
    const grandchild = two.child({ id: 'grandchild' })
    one.close()
    expect(it.skills.sessions()).toEqual([parent, two, grandchild])
    parent.close()
    expect([it.skills.sessions(), two.isClosed, grandchild.isClosed]).toEqual([[], true, true])
    await expect(grandchild.offer()).rejects.toMatchObject({ code: 'CLOSED' })
    expect(() => parent.child({ id: 'three' })).toThrow(expect.objectContaining({ code: 'CLOSED' }))
  })

  test('a pinned child of a pinned session has the generation of its parent', async () => {
    await using it = await openMemorySkills(['pdf'])
    const parent = it.skills.session({ id: 'p', delivery: 'pinned' })
    it.write('maps')
    it.write('pdf', { body: 'Newer.' })
    await it.skills.fresh()
    const child = parent.child({ id: 'c' })
    expect([child.catalog, child.generation]).toEqual([parent.catalog, parent.generation])
    expect(await loadSkill(child, 'pdf')).toContain('Body of pdf.')
    expect(parent.child({ id: 'live', delivery: 'append' }).catalog).toContain('<name>maps</name>')
  })

  test('the child also refuses the tools that the active skills of its parent forbid', async () => {
    await using it = await openMemorySkills(['free'])
    it.write('fix', { extra: 'allowed-tools: Read\n' })
    const parent = it.skills.session({ id: 'p', allowedTools: 'enforce' })
    await loadSkill(parent, 'fix')
    const child = parent.child({ id: 'c', allowedTools: 'ignore' })
    await loadSkill(child, 'free')
    expect(child.checkTool('Bash', {})).toContain('while "fix" is active')
    expect([child.checkTool('Read', {}), child.checkTool('skill', {})]).toEqual([undefined, undefined])
    parent.beginTurn()
    expect(child.checkTool('Bash', {})).toBeUndefined()
  })

  test('child() refuses the id of an open session, and refuses the id of the parent even if a state to resume is given', async () => {
    await using it = await openMemorySkills(['pdf'])
    const parent = it.skills.session({ id: 'p' })
    parent.child({ id: 'c' })
    for (const options of [{ id: 'p' }, { id: 'c' }, { id: 'p', resume: parent.state() }])
      expect(() => parent.child(options)).toThrow(expect.objectContaining({ code: 'DUPLICATE_SESSION' }))
    expect(parent.isClosed).toBe(false)
    expect(() => parent.child({ id: 'd', lable: 'x' } as never)).toThrow('unknown option "lable"')
  })
})
