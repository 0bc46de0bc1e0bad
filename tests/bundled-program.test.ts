import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { rolldown } from 'rolldown'
import { expect, test } from 'vitest'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

test('a bundled program runs outside the repository and continues from the state of an earlier run', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/pdf', { body: 'First.' })
  const program = folder.write(
    'program.ts',
    `import { createSkillRuntime } from '@skillstoke/core'
     import { directory, openState } from '@skillstoke/core/node'
     await using skills = await createSkillRuntime({
       sources: [directory(process.argv[2])],
       state: await openState(process.argv[3]),
     })
     console.log((await skills.load('pdf')).body.trim())`,
  )
  {
    await using build = await rolldown({
      input: program,
      platform: 'node',
      resolve: { modules: [resolve('node_modules')] },
    })
    await build.write({ file: folder.at('bundle/program.mjs'), format: 'esm', codeSplitting: false })
  }
  const run = (): unknown => {
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [folder.at('bundle/program.mjs'), folder.at('skills'), folder.at('state')],
      { cwd: folder.path, encoding: 'utf8', timeout: 30_000 },
    )
    return { stdout, stderr }
  }
  expect(run()).toEqual({ stdout: 'First.\n', stderr: '' })
  folder.writeSkill('skills/pdf', { body: 'Second.' })
  expect(run()).toEqual({ stdout: 'Second.\n', stderr: '' })
})
