import { expect, test } from 'vitest'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import { FileSource } from './file-source.ts'

test('findLeftOut() names each file that is not part of a skill, and a folder instead of all its files', async () => {
  const fileSystem = new MemoryFileSystem({
    '/skills/pdf/SKILL.md': '---\nname: pdf\ndescription: Use for PDF files.\n---\nBody.\n',
    '/skills/pdf/.skillignore': 'drafts/\n*.log\n',
    '/skills/pdf/references/a.md': 'A',
    '/skills/pdf/references/a.log': 'x',
    '/skills/pdf/drafts/one.md': 'x',
    '/skills/pdf/drafts/deep/two.md': 'x',
    '/skills/other.md': 'x',
  })
  const source = new FileSource({ fileSystem, root: '/skills', label: 'skills' })
  await using skills = await createSkillRuntime({ sources: [source] })
  expect(await source.findLeftOut(skills.current.get('pdf'))).toEqual(['drafts/', 'references/a.log'])
})
