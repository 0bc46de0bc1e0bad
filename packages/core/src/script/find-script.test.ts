import { describe, expect, test } from 'vitest'
import { findScript } from './find-script.ts'

const paths = [
  'SKILL.md',
  'scripts/a b.sh',
  'scripts/fill.py',
  'scripts/größe.sh',
  'scripts/lib/x.sh',
  'scripts/x.sh',
  'tools/run.sh',
]
const files = paths.map(path => ({ path, size: 1, digest: 'sha256:', isExecutable: false }) as const)
const skill = { name: 'pdf', files, directory: '/home/me/skills/pdf' }

describe('findScript()', () => {
  test.each([
    ['scripts/x.sh', 'scripts/x.sh', []],
    ['./scripts/x.sh', 'scripts/x.sh', []],
    ['/home/me/skills/pdf/scripts/x.sh', 'scripts/x.sh', []],
    ['/home/me/skills/pdf/./scripts/x.sh', 'scripts/x.sh', []],
    ['x.sh', 'scripts/x.sh', []],
    ['lib/x.sh', 'scripts/lib/x.sh', []],
    ['tools/run.sh', 'tools/run.sh', []],
    ['scripts/a b.sh', 'scripts/a b.sh', []],
    ['bash x.sh', 'scripts/x.sh', []],
    ['/bin/bash ./scripts/x.sh', 'scripts/x.sh', []],
    ['python3 scripts/fill.py a.pdf --quiet', 'scripts/fill.py', ['a.pdf', '--quiet']],
    ['uv run scripts/fill.py', 'scripts/fill.py', []],
    ['scripts/fill.py a.pdf', 'scripts/fill.py', ['a.pdf']],
    ['bash -e scripts/x.sh', 'scripts/x.sh', []],
    ['bash -eu -x x.sh a', 'scripts/x.sh', ['a']],
    ['python3 -O -u scripts/fill.py', 'scripts/fill.py', []],
    ['deno run -A --allow-read=. x.sh', 'scripts/x.sh', []],
    ['uv run --script scripts/fill.py a.pdf', 'scripts/fill.py', ['a.pdf']],
    ['bash "scripts/a b.sh"', 'scripts/a b.sh', []],
    ["bash './scripts/a b.sh' one two", 'scripts/a b.sh', ['one', 'two']],
    ['"scripts/x.sh"', 'scripts/x.sh', []],
    ['scripts//x.sh', 'scripts/x.sh', []],
    ['scripts/./lib//x.sh', 'scripts/lib/x.sh', []],
    ['/home/me//skills/pdf/scripts/x.sh', 'scripts/x.sh', []],
    ['scripts/gro\u0308\u00dfe.sh', 'scripts/größe.sh', []],
    ['python3.12 /home/me/skills/pdf/scripts/fill.py', 'scripts/fill.py', []],
  ])('findScript() finds the script that %j names', (text, path, args) => {
    expect(findScript(text, skill)).toEqual({ path, args })
  })

  test('findScript() accepts backslashes in paths of Windows', () => {
    const there = { ...skill, directory: 'C:\\skills\\pdf' }
    expect(findScript('C:\\skills\\pdf\\scripts\\x.sh', there).path).toBe('scripts/x.sh')
  })

  test.each([
    ['scripts/y.sh', 'did you mean "scripts/lib/x.sh" or "scripts/x.sh"?'],
    ['bash fil.py', 'did you mean "scripts/fill.py"?'],
    ['rm scripts/x.sh', 'its scripts are'],
    ['bash -c scripts/x.sh', 'its scripts are scripts/a b.sh, scripts/fill.py'],
    ['bash "x.sh" "a b"', '"pdf" has no file'],
    ['bash "$HOME/x.sh"', '"pdf" has no file'],
    ['node -r scripts/x.sh scripts/fill.py', '"pdf" has no file'],
    ['bash -ec scripts/x.sh', '"pdf" has no file'],
    ['perl -e scripts/x.sh', '"pdf" has no file'],
    ['../other/x.sh', 'did you mean'],
    ['/elsewhere/skills/pdf/scripts/x.sh', 'did you mean'],
    ['/home/me/skills/pdf/../other/x.sh', 'did you mean'],
    ['/bin/sh', 'its scripts are'],
    ['', 'its scripts are'],
  ])('findScript() refuses %j and says what the skill has', (text, hint) => {
    expect(() => findScript(text, skill)).toThrow(hint)
  })
})
