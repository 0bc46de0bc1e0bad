import { SkillError } from '@skillstoke/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkRef, parseGitUrl } from './git-url.ts'

test.each([
  [
    'https://github.com/org/shared-skills',
    { url: 'https://github.com/org/shared-skills.git', name: 'shared-skills' },
  ],
  ['https://github.com/org/shared-skills.git', { url: 'https://github.com/org/shared-skills.git' }],
  ['http://github.com/org/shared-skills', { url: 'https://github.com/org/shared-skills.git' }],
  ['github.com/org/shared-skills', { origin: 'https://github.com/org/shared-skills' }],
  ['org/shared-skills', { url: 'https://github.com/org/shared-skills.git' }],
  ['org/my.skills', { url: 'https://github.com/org/my.skills.git' }],
  [
    'https://github.com/org/shared-skills/tree/main/skills',
    { url: 'https://github.com/org/shared-skills.git', refAndPath: 'main/skills' },
  ],
  [
    'https://github.com/org/x.git/tree/feature/a%20b',
    { url: 'https://github.com/org/x.git', refAndPath: 'feature/a b' },
  ],
  ['https://gitlab.example/group/sub/x.git', { url: 'https://gitlab.example/group/sub/x.git', name: 'x' }],
  [
    'ssh://git@example.com:2222/srv/x.git',
    { protocol: 'ssh', url: 'ssh://git@example.com:2222/srv/x.git', name: 'x' },
  ],
  ['git@github.com:org/x.git', { protocol: 'ssh', url: 'git@github.com:org/x.git', name: 'x' }],
])('parseGitUrl() accepts %s', (text, expected) => {
  expect(parseGitUrl(text)).toMatchObject(expected)
})

test('parseGitUrl() accepts tree URLs of a GitHub server with its own base URL', () => {
  const options = { baseUrl: 'https://git.example.com' }
  expect(parseGitUrl('org/x', options).url).toBe('https://git.example.com/org/x.git')
  expect(parseGitUrl('https://git.example.com/org/x/tree/v1/skills', options)).toMatchObject({
    url: 'https://git.example.com/org/x.git',
    refAndPath: 'v1/skills',
  })
})

test('the ref and the path are part of the origin of a source', () => {
  const place = parseGitUrl('git@example.com:x.git', { ref: 'v1', path: 'skills/' })
  expect(place).toMatchObject({ ref: 'v1', path: 'skills', origin: 'git@example.com:x.git#v1:skills' })
})

test.each([
  '',
  '--upload-pack=touch /tmp/pwned',
  '-oProxyCommand=x',
  'ext::sh -c touch% /tmp/pwned',
  'ext::sh',
  'fd::17',
  'file:///etc',
  '/etc',
  '../up',
  'http://127.0.0.1/x.git',
  'http://example.com/x.git',
  'git://example.com/x.git',
  'ftp://example.com/x.git',
  'ssh://-oProxyCommand=x/y',
  'ssh://-u@host/y',
  '-u@host:y',
  'git@-host:y',
  'git@host:-y',
  'git@host:../y',
  'https://user:secret@example.com/x.git',
  'https://user:secret@example.com/x?y',
  'https://user:secret@example.com/../x',
  'https://user:secret@example.com:99999999/x',
  'ftp://user:secret@example.com/x',
  'git@8.8.8.8:x@[127.0.0.1]:repo',
  'ssh://git@8.8.8.8/x@[127.0.0.1]/repo',
  'ssh://git@8.8.8.8/x@%5b127.0.0.1%5d/repo',
  'https://github.com/../x',
  'https://github.com/org/..',
  'https://github.com/org',
  'https://github.com/org/x/blob/main/SKILL.md',
  'https://example.com/',
  'https://example.com/x.git?a=b',
  'https://example.com/x\n.git',
  'https://github.com/org/x/tree/main/../../etc',
  'https://github.com/org/x/tree/main/%2e%2e/etc',
  'https://example.com/a%5c..%5cb',
])('parseGitUrl() refuses %j and names the accepted notations', text => {
  expect(() => parseGitUrl(text)).toThrow(SkillError)
  try {
    parseGitUrl(text)
  } catch (thrown) {
    expect(String(thrown)).not.toContain('secret')
    expect(String(thrown)).toMatch(/use |token/)
  }
})

test('http is allowed only for servers on this machine that `privateHosts` lists', () => {
  const options = { privateHosts: ['127.0.0.1:3000', 'example.com'] }
  expect(parseGitUrl('http://127.0.0.1:3000/x.git', options).protocol).toBe('http')
  expect(() => parseGitUrl('http://127.0.0.1:3001/x.git', options)).toThrow(/not encrypted/)
  expect(() => parseGitUrl('http://example.com/x.git', options)).toThrow(/not encrypted/)
})

test.each([
  '-x',
  'a..b',
  'a b',
  'a~1',
  'a:b',
  'a@{0}',
  '/a',
  'a/',
  'a//b',
  'a.lock',
  'x.lock/y',
  'a/.b',
  '',
  'ref^{}',
  '*',
])('checkRef() refuses the ref %j', ref => {
  expect(() => checkRef(ref)).toThrow(/branch or tag/)
})

test('every URL that parseGitUrl() returns uses https or ssh and never starts with a dash', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary', maxLength: 40 }),
        fc
          .array(
            fc.constantFrom(
              '-',
              'ext::',
              'ssh://',
              'git@',
              'host',
              ':',
              '/',
              '..',
              '%2e',
              '--upload-pack=',
              'tree',
              ' ',
            ),
            { maxLength: 8 },
          )
          .map(parts => parts.join('')),
      ),
      text => {
        try {
          const { url, protocol } = parseGitUrl(text)
          expect(url).not.toMatch(/^-|[\s\0]|^\w+::/)
          expect(['https', 'ssh']).toContain(protocol)
        } catch (thrown) {
          expect(SkillError.isInstance(thrown, 'INVALID_OPTION')).toBe(true)
        }
      },
    ),
    { numRuns: 2000 },
  )
})
