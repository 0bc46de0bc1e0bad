import { expect, test } from 'vitest'
import { findMentions } from './mentions.ts'

test('names hosts and secrets that only the new text has, once, with their line', () => {
  const before = 'curl https://old.example/a\n'
  const after = [
    'curl https://old.example/b',
    'curl -H "$CI_TOKEN" https://user:secret@ci.acme.example:8443/v1',
    "fetch('http://127.0.0.1:80/' + process.env['API_KEY'])",
    'os.environ["DB_PASSWORD"]; ENV["CI_TOKEN"]; $HOME',
    'https://ci.acme.example again',
  ].join('\n')
  expect(findMentions(before, after)).toEqual([
    { kind: 'host', name: 'ci.acme.example', line: 2 },
    { kind: 'secret', name: 'CI_TOKEN', line: 2 },
    { kind: 'host', name: '127.0.0.1', line: 3 },
    { kind: 'secret', name: 'API_KEY', line: 3 },
    { kind: 'secret', name: 'DB_PASSWORD', line: 4 },
  ])
})
