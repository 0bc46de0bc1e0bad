import { describe, expect, test } from 'vitest'
import { findInterpreter } from './interpreter.ts'

const find = (path: string, text: string): unknown => findInterpreter(path, Buffer.from(text))
const program = (names: readonly string[], ...args: readonly string[]): object => ({
  kind: 'program',
  names,
  args,
})
const node = (...args: readonly string[]): object => ({ kind: 'node', args })
const refused = (reason: string): object => ({ kind: 'refused', reason: expect.stringContaining(reason) })

describe('findInterpreter()', () => {
  test.each([
    ['a.sh', 'echo\n', program(['sh'])],
    ['a.py', 'print()\n', program(['python3', 'python'])],
    ['a.ts', 'export {}\n', node()],
    ['a', '#!/bin/sh', program(['sh'])],
    ['a.sh', '#!/bin/bash -e\n', program(['bash'], '-e')],
    ['a.sh', '#!/usr/bin/env -S bash -e -u\n', program(['bash'], '-e', '-u')],
    ['a.sh', '#! /bin/bash -eu -o pipefail\r\n', program(['bash'], '-eu', '-o', 'pipefail')],
    ['a.py', '#!/usr/bin/python3 -O\n', program(['python3'], '-O')],
    ['a.py', '#!/usr/bin/env python\n', program(['python', 'python3'])],
    ['a.py', '#!/usr/bin/env python3.12\n', program(['python3.12'])],
    ['a.py', '#!/usr/bin/env --split-string=python3 -u\n', program(['python3'], '-u')],
    ['a.py', '#!/usr/bin/env -Spython3 -u\n', program(['python3'], '-u')],
    ['a', '#!/usr/bin/env -S MODE=1 python3\n', program(['env'], '-S', 'MODE=1 python3')],
    ['a', '#!/usr/bin/env -i python3\n', program(['env'], '-S', '-i python3')],
    ['a', '#!/usr/bin/env -S python3 -c "print(1)"\n', program(['env'], '-S', 'python3 -c "print(1)"')],
    ['a.ts', '#!/usr/bin/env bun\n', program(['bun'])],
    ['a.ts', '#!/usr/bin/env -S deno run --allow-read\n', program(['deno'], 'run', '--allow-read')],
    ['a.ts', '#!/usr/bin/env -S npx tsx\n', node()],
    ['a.ts', '#!/usr/bin/env -S npx --yes zx\n', refused('its first line asks npx for "zx"')],
    ['a.ts', '#!/usr/bin/env tsx\n', node()],
    [
      'a',
      '#!/usr/bin/env -S node --no-warnings --enable-source-maps\n',
      node('--no-warnings', '--enable-source-maps'),
    ],
    ['a.js', '#!/usr/bin/env -S node --allow-fs-read=*\n', refused('"--allow-fs-read=*" to Node')],
    ['a', '#!/usr/bin/env -S node --no-warnings -r ./x.js\n', refused('"-r" to Node')],
  ])('findInterpreter(%j, %j) follows the first line', (path, text, expected) => {
    expect(find(path, text)).toEqual(expected)
  })

  test.each([
    ['a.bin', 'data'],
    ['a', ''],
    ['a', '#!\n'],
    ['a', '#!/usr/bin/env\n'],
    ['a', '#!/usr/bin/env -S\n'],
  ])('findInterpreter(%j, %j) finds none', (path, text) => {
    expect(find(path, text)).toBeUndefined()
  })

  const head = '#!/usr/bin/env -S uv run --script\n'
  const metadata = (...lines: readonly string[]): string =>
    `${head}# /// script\n${lines.map(line => `# ${line}\n`).join('')}# ///\nprint()\n`
  const offline = program(['uv'], 'run', '--offline', '--script')
  test.each([
    ['no metadata', head, offline],
    ['no packages', metadata('requires-python = ">=3.11"', 'dependencies = []'), offline],
    [
      'options before the verb',
      '#!/usr/bin/env -S uv --quiet --color never run --script\n',
      program(['uv'], '--quiet', '--color', 'never', 'run', '--offline', '--script'),
    ],
    ['another verb', '#!/usr/bin/env -S uv tool run ruff\n', refused('something else than "run"')],
    ['no verb', '#!/usr/bin/env uv\n', refused('something else than "run"')],
    [
      '--no-offline',
      '#!/usr/bin/env -S uv run --no-offline --script\n',
      refused('the network (--no-offline)'),
    ],
    [
      'a variable',
      '#!/usr/bin/env -S UV_OFFLINE=0 uv run --script\n',
      refused('starts uv with options of env'),
    ],
    ['another path', '#!/usr/bin/env -S A=1 /opt/uvx x\n', refused('starts /opt/uvx with options of env')],
    ['an option in short form', '#!/usr/bin/env -S uv run -qw rich --script\n', refused('packages (-qw)')],
    [
      'comments behind packages',
      metadata('dependencies = [', '  "a#b", # it\'s needed', "  'rich', # \"", ']'),
      refused('the packages "a#b", "rich", but'),
    ],
    ['a quoted key', metadata('"dependencies" = ["rich"]'), refused('the packages "rich", but')],
    ['packages in a comment', metadata('# dependencies = ["requests"]'), offline],
    ['a package', metadata('dependencies = ["requests<3"]'), refused('the packages "requests<3", but')],
    [
      'several lines',
      metadata('dependencies = [', '  "rich[all]>=1",', "  'httpx',", ']'),
      refused('"rich[all]>=1", "httpx"'),
    ],
    [
      'an option',
      '#!/usr/bin/env -S uv run --with requests --script\n',
      refused('asks uv for packages (--with)'),
    ],
  ])(
    'findInterpreter() lets uv run a script with %s only without the network and without packages',
    (_, text, expected) => {
      expect(find('a.py', text)).toEqual(expected)
    },
  )
})
