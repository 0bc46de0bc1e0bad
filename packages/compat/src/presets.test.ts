import { createSkillRuntime, type SkillRuntime } from '@skillstoke/core'
import { FileSource, fromAllowedPaths, MemoryFileSystem } from '@skillstoke/core/source'
import { verifies } from '@skillstoke/requirements'
import { expect, test } from 'vitest'
import { PRESETS } from './index.ts'

const text = (name: string, extra = ''): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n${extra}---\nBody.\n`

async function openPai(files: MemoryFileSystem): Promise<SkillRuntime> {
  const { runtime, source } = PRESETS.pai
  return await createSkillRuntime({ ...runtime, sources: fromAllowedPaths(files, ['/project'], source) })
}

test(`the pai preset lists any number of skills ${verifies('PAI-16', 'PAI-X04')}`, async () => {
  const files = new MemoryFileSystem()
  const names = Array.from({ length: 300 }, (_, i) => `skill-${String(i).padStart(3, '0')}`)
  for (const name of names) files.write(`/project/skills/${name}/SKILL.md`, text(name))
  await using skills = await openPai(files)
  const catalog = skills.catalog()
  expect([catalog.listed, catalog.omitted]).toEqual([names, []])
  expect([...catalog.text.matchAll(/<skill name="(.*)">/g)].map(match => match[1])).toEqual(names)
})

test(`with the pai preset, the next request after a skill folder was removed lists no skills of that folder ${verifies('PAI-04', 'P08')}`, async () => {
  const files = new MemoryFileSystem({ '/project/skills/pdf/SKILL.md': text('pdf') })
  await using skills = await openPai(files)
  expect(skills.catalog().text).toContain('<skill name="pdf">')
  files.remove('/project/skills')
  await skills.fresh()
  expect(skills.catalog().text).toBe('')
})

test(`with the exo preset, activate_skill answers an unknown name with the list of active skills ${verifies('EXO-X07')}`, async () => {
  const fileSystem = new MemoryFileSystem({
    '/skills/pdf/SKILL.md': text('pdf'),
    '/skills/maps/SKILL.md': text('maps'),
    '/skills/off/SKILL.md': text('off', 'active: false\n'),
  })
  const { runtime, source, session } = PRESETS.exo
  const sources = [new FileSource({ ...source, fileSystem, root: '/skills', label: 'skills' })]
  await using skills = await createSkillRuntime({ ...runtime, sources })
  const [activate] = skills.session({ ...session, id: 'chat' }).tools
  // A word search for "does pdf" would find the skill "pdf".
  for (const name of ['nonsense', 'does pdf']) {
    expect(await activate?.execute({ name })).toMatchObject({
      isError: true,
      text: `Skill '${name}' not found. Available skills: maps, pdf`,
    })
  }
  const scoped = skills.session({ ...session, id: 'scoped', scope: { include: ['maps'] } }).tools[0]
  expect((await scoped?.execute({ name: 'pdf' }))?.text).toBe("Skill 'pdf' not found. Available skills: maps")
})
