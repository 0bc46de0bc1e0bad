import { createSkillRuntime, type SkillRuntime } from '@skillstoke/core'
import { FileSource, MemoryFileSystem, NO_SETTLE } from '@skillstoke/core/source'
import { verifies } from '@skillstoke/requirements'
import { expect, test } from 'vitest'
import { PRESETS } from './index.ts'

async function open(files: MemoryFileSystem): Promise<SkillRuntime> {
  const { runtime, source } = PRESETS.rustfox
  return await createSkillRuntime({
    ...runtime,
    tuning: { ...runtime.tuning, settle: NO_SETTLE },
    sources: [new FileSource({ ...source, fileSystem: files, root: '/skills', label: 's', writable: files })],
  })
}

const text = (name: string): string => `---\nname: ${name}\ndescription: Use when needed.\n---\nBody.\n`

test.each([
  ['tone', 'SKILL.md', text('tone')],
  ['no-frontmatter', 'SKILL.md', '# Writes letters\n\nBegin with a greeting.\n'],
  ['no-description', 'SKILL.md', '---\nname: no-description\n---\nBody.\n'],
  ['agent-file', 'AGENT.md', text('agent-file')],
  ['a--b', 'SKILL.md', text('a--b')],
  ['claude-notes', 'SKILL.md', text('claude-notes')],
  ['target', 'SKILL.md', text('target')],
  ['unsafe', 'SKILL.md', '---\nname: ../other\ndescription: x\n---\nBody.\n'],
  ['broken', 'SKILL.md', '---\nname: "broken\ndescription: x\n---\nBody.\n'],
])(
  `the rustfox preset's writer accepts %s/%s if its source serves it ${verifies('FOX-11', 'FOX-X02', 'P09')}`,
  async (name, path, content) => {
    const byHand = new MemoryFileSystem({ [`/skills/${name}/${path}`]: content })
    await using served = await open(byHand)
    await using skills = await open(new MemoryFileSystem({ '/skills/.keep': '' }))
    const write = skills.writer(PRESETS.rustfox.writer).write({ skill: name, path, content })
    const isWritten = await write.then(({ errors }) => errors.length === 0).catch(() => false)
    expect(isWritten).toBe(served.current.find(name) !== undefined)
    expect(skills.current.list().map(skill => skill.description)).toEqual(
      served.current.list().map(skill => skill.description),
    )
  },
)

test(`the writer edits an existing skill, even if its name is not allowed for new skills ${verifies('FOX-X05')}`, async () => {
  const files = new MemoryFileSystem({ '/skills/My_Skill/SKILL.md': text('My_Skill') })
  await using skills = await open(files)
  const writer = skills.writer(PRESETS.rustfox.writer)
  const { errors } = await writer.write({ skill: 'My_Skill', path: 'notes.md', content: 'Newer.' })
  expect([errors, skills.current.get('My_Skill').files.map(file => file.path)]).toEqual([
    [],
    ['SKILL.md', 'notes.md'],
  ])
  for (const name of ['Other_Skill', 's/My_Skill'])
    await expect(writer.write({ skill: name, path: 'a.md', content: '' })).rejects.toMatchObject({
      code: 'INVALID_NAME',
    })
})
