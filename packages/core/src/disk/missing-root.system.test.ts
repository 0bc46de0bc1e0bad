import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../../../../tests/fixtures/skill-folder.ts'

const program = (options: string): string => `
  import { createSkillRuntime } from '@skillstoke/core'
  import { directory } from '@skillstoke/core/node'
  await using skills = await createSkillRuntime({ sources: [directory(process.argv[1], ${options})] })
  await skills.reload()
  console.log(JSON.stringify(skills.status().map(({ label, isMissing }) => [label, isMissing])))`

test.each([
  ['{}', 1],
  ["{ onMissing: 'empty' }", 0],
])(
  'directory() with %s of a missing folder prints %i warnings, and status() has its row',
  (options, count) => {
    using folder = new TemporaryFolder()
    const args = ['--input-type=module', '-e', program(options), folder.at('skils')]
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    expect(
      stderr.match(/\[ROOT_MISSING\] Warning: the folder ".*skils" does not exist yet/g) ?? [],
    ).toHaveLength(count)
    expect(JSON.parse(stdout)).toEqual([['skils', true]])
  },
)
