import { expect, test } from 'vitest'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import { FileSource } from './file-source.ts'
import { NO_SETTLE } from './settle.ts'

const text = (name: string): string => `---\nname: ${name}\ndescription: Does ${name}.\n---\nx\n`

test('what .skillignore names stays ignored while SKILL.md is gone, and when it is back', async () => {
  const files = new MemoryFileSystem({
    '/skills/pdf/SKILL.md': text('pdf'),
    '/skills/pdf/.skillignore': '.env\ndrafts/\n',
    '/skills/pdf/.env': 'KEY=secret',
    '/skills/pdf/drafts/hidden/SKILL.md': text('hidden'),
    '/skills/pdf/notes.md': 'x',
  })
  const source = new FileSource({ fileSystem: files, root: '/skills', label: 'skills' })
  await using skills = await createSkillRuntime({ sources: [source], tuning: { settle: NO_SETTLE } })
  const pathsOf = (name: string): readonly string[] =>
    skills.current.find(name)?.files.map(({ path }) => path) ?? []
  const names = (): readonly string[] => skills.current.list().map(({ name }) => name)
  const all = ['.skillignore', 'SKILL.md', 'notes.md']
  expect([names(), pathsOf('pdf')]).toEqual([['pdf'], all])

  files.remove('/skills/pdf/SKILL.md')
  await skills.reload()
  expect(names()).toEqual([])
  files.write('/skills/pdf/SKILL.md', text('pdf'))
  await skills.reload()
  expect([names(), pathsOf('pdf')]).toEqual([['pdf'], all])

  // The file itself says otherwise: with another text, and when it goes.
  files.write('/skills/pdf/.skillignore', '.env\n')
  await skills.reload()
  expect([names(), pathsOf('pdf').includes('.env')]).toEqual([['hidden', 'pdf'], false])
  files.remove('/skills/pdf/.skillignore')
  await skills.reload()
  expect(pathsOf('pdf')).toContain('.env')
})

test('.skillignore holds in folders that have no SKILL.md, after a restart too', async () => {
  const files = new MemoryFileSystem({
    '/skills/pdf/.skillignore': 'drafts/\n',
    '/skills/pdf/drafts/hidden/SKILL.md': text('hidden'),
    '/skills/pdf/other/SKILL.md': text('other'),
  })
  const source = new FileSource({ fileSystem: files, root: '/skills', label: 'skills' })
  await using skills = await createSkillRuntime({ sources: [source], tuning: { settle: NO_SETTLE } })
  expect(skills.current.list().map(({ name }) => name)).toEqual(['other'])
})
