import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { UsageError } from '../terminal/exit-code.ts'
import { configSchema, toJsonSchema } from './config-schema.ts'
import { createRemote, parseSourceFlag } from './remote-config.ts'
import {
  assertInside,
  type ConfigSource,
  describeSourceForms,
  kindOf,
  SOURCE_KIND_NAMES,
  SOURCE_KINDS,
} from './source-kinds.ts'

const WORDS: Readonly<
  Record<(typeof SOURCE_KIND_NAMES)[number], readonly [word: string, source: ConfigSource]>
> = {
  git: ['acme/skills#v2:skills', { git: 'acme/skills', ref: 'v2', path: 'skills' }],
  archive: ['https://example.com/team.tar.gz#a', { archive: 'https://example.com/team.tar.gz', path: 'a' }],
  wellKnown: ['well-known+https://example.com', { wellKnown: 'https://example.com' }],
  npm: [`npm:${resolve('.')}`, { npm: resolve('.') }],
  mcp: ['mcp+https://example.com/mcp', { mcp: 'https://example.com/mcp' }],
  fleet: ['fleet+nats://example.com:4222#canary', { fleet: 'nats://example.com:4222', channel: 'canary' }],
}

test.each(SOURCE_KIND_NAMES)(
  'a --source value for %s is parsed only by this kind of source, converts back to the same value, and matches the schema',
  async name => {
    const [word, source] = WORDS[name]
    expect(parseSourceFlag(` ${word} `)).toEqual(source)
    expect(
      SOURCE_KIND_NAMES.filter(each => each !== 'git' && SOURCE_KINDS[each].parse(word) !== undefined),
    ).toEqual(name === 'git' ? [] : [name])
    expect(kindOf(source).toFlag(source)).toBe(word)
    expect(configSchema.safeParse({ sources: [{ ...source, label: 'x' }] }).success).toBe(true)
    expect(configSchema.safeParse({ sources: [{ ...source, labels: 'x' }] }).success).toBe(false)
    const setup = { access: { privateHosts: [] }, stateDirectory: '.', reading: {} }
    const made = await createRemote({ source, isNamed: true, label: 'x' }, setup)
    expect([made.label, made.trust]).toEqual(['x', 'review'])
  },
)

test('the help text and the JSON Schema contain every kind of source', () => {
  expect(describeSourceForms({ isDetailed: true })).toBe(
    'a repository (URL, owner/repo or file:///folder, with #branch:folder), x.zip, x.tar.gz, well-known+https://host, npm:folder, mcp+https://host/mcp, fleet+nats://host:4222 (with #channel)',
  )
  const schema = JSON.stringify(toJsonSchema())
  for (const name of SOURCE_KIND_NAMES) expect(schema).toContain(`"required":["${name}"]`)
})

test('--source does not accept a folder', () => {
  for (const path of ['./skills', '../skills', '/skills', '~/skills'])
    expect(() => parseSourceFlag(path)).toThrow(UsageError)
  expect(() => parseSourceFlag('./packages#main')).toThrow(
    `use --root for a folder that contains skills, file://${resolve('packages')}`,
  )
  expect(() => parseSourceFlag('./nothere#main')).toThrow(
    `the source "./nothere#main" does not exist: there is no "${resolve('nothere')}"`,
  )
  expect(() => parseSourceFlag('./package.json')).toThrow('is a file that is no archive')
})

test.each([
  ['..data/skills.zip', true],
  ['..', false],
  ['../skills.zip', false],
  ['a/../../skills.zip', false],
  [resolve('..', 'skills.zip'), false],
])('a configuration file may name the archive %j: %j', (path, isAllowed) => {
  const check = (): void => assertInside(path, false)
  if (isAllowed) expect(check).not.toThrow()
  else expect(check).toThrow('is outside the working directory')
})
