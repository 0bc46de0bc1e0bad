import { expect, test } from 'vitest'
import { isToolAllowed } from './allowed-tools.ts'

test.each([
  [['Read'], 'Read', { path: 'a' }, true],
  [['Read'], 'Write', { path: 'a' }, false],
  [['Read'], 'ReadAll', {}, false],
  [['mcp__git__*'], 'mcp__git__log', {}, true],
  [['*'], 'Anything', {}, true],
  [['Bash(git:*)'], 'Bash', { command: 'git status' }, true],
  [['Bash(git:*)'], 'Bash', { command: 'git' }, true],
  [['Bash(git:*)'], 'Bash', { command: 'gitk' }, false],
  [['Bash(git:*)'], 'Bash', { command: 'git log; rm -rf /' }, false],
  [['Bash(git:*)'], 'Bash', { command: 'git log $(rm x)' }, false],
  [['Bash(git log*)'], 'Bash', { command: 'git log && curl x' }, false],
  [['Bash(*)'], 'Bash', { command: 'a; b' }, true],
  [['Bash(git:*)'], 'Bash', {}, false],
  [['Bash(git:*)'], 'Bash', 'git status', true],
  [['Read(docs/*)'], 'Read', { path: 'docs/a.md' }, true],
  [['Read(docs/*)'], 'Read', { path: 'docs/../secret' }, false],
  [['Fetch(https://example.com/*)'], 'Fetch', { url: 'https://example.com/x', method: 'GET' }, true],
  [['Fetch(https://example.com/*)'], 'Fetch', { url: 'https://evil.com/' }, false],
  [['Ask(weather)'], 'Ask', { topic: 'weather' }, true],
  [['Ask(weather)'], 'Ask', { topic: 'weather', other: 'x' }, false],
  [[''], '', {}, false],
  [['Read(docs/*)'], 'Read', { file_path: '/etc/passwd', path: 'docs/x' }, false],
  [['Read(docs/*)'], 'Read', { file_path: '/etc/passwd', command: 'docs/x' }, false],
  [['Read(docs/*)'], 'Read', { paths: 'docs/x', path: ['docs/a', '/etc/passwd'] }, false],
  [['Bash(git:*)'], 'Bash', { cmd: 'git log; rm -rf /' }, false],
  [['Bash(git:*)'], 'Bash', { whatever: 'git log; rm -rf /' }, false],
  [['Bash(echo:*)'], 'Bash', { cmd: 'rm -rf /', command: 'echo hi' }, false],
])('isToolAllowed(%j, %j, %j) is %j', (entries, tool, input, expected) => {
  expect(isToolAllowed(entries, tool, input)).toBe(expected)
})
