import { expect, test } from 'vitest'
import { readFrontmatter } from './read-frontmatter.ts'

const read = (text: string): unknown => readFrontmatter(new TextEncoder().encode(text))

test('readFrontmatter() keeps every field with the type that YAML gives it', () => {
  expect(
    read(
      '---\nname: pdf\ndescription: >\n  two\n  lines\nversion: 1.10\nmetadata:\n  a: "1"\ntags: [x]\n---\nbody',
    ),
  ).toEqual({ name: 'pdf', description: 'two lines\n', version: 1.1, metadata: { a: '1' }, tags: ['x'] })
})

test('readFrontmatter() ignores a byte order mark', () => {
  expect(read('\uFEFF---\nname: pdf\n---\n')).toEqual({ name: 'pdf' })
})

test.each([
  ['a value that had to be repaired', '---\nname: pdf\ndescription: use it: always\n---\n'],
  ['a field that is read as text', '---\nname: pdf\ndescription: x\nargument-hint: [a] or [b]\n---\n'],
  ['a frontmatter below the first line', '\n---\nname: pdf\ndescription: x\n---\n'],
  ['broken YAML', '---\nname: "pdf\n---\n'],
  ['no frontmatter', '# pdf'],
])('readFrontmatter() returns undefined for %s', (_what, text) => {
  expect(read(text)).toBeUndefined()
})
