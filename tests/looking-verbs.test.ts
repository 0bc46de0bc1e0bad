import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { stoke } from './fixtures/cli.ts'
import { startDev } from './fixtures/dev.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

/** Only a running server counts tokens and uses, and it counts them in the background. */
function withoutCounts(output: string): string {
  return output.replace(/"(tokens|usage)": (null|\{[^}]*\})/g, '"$1": null')
}

test('each looking verb prints the same with a running dev as without one', async () => {
  using folder = new TemporaryFolder()
  const place = ['--root', folder.at('skills'), '--state', folder.at('state')]
  folder.writeSkill('skills/refund', { body: 'Within 30 days.' })
  folder.writeSkill('skills/maps', { body: 'Finds routes.' })
  stoke(['list', ...place])
  folder.writeSkill('skills/refund', { body: 'Within 60 days.' })
  stoke(['list', ...place])
  stoke(['list', '--frozen', ...place])
  writeFileSync(folder.at('skills/maps/SKILL.md'), 'no frontmatter')
  const verbs = [
    ['show', 'refund'],
    ['show', 'refund', '--json'],
    ['show', folder.at('skills/refund')],
    ['show', 'maps'],
    ['show', 'no-skill'],
    ['show', 'no-skill', '--json'],
    ['diff', 'refund'],
    ['diff', 'refund', '--json'],
    ['diff', 'no-skill'],
    ['diff', 'maps'],
    ['diff', 'maps', '--json'],
    ['log', 'refund', '--limit', '1'],
    ['log', 'refund', '--json'],
    ['log', 'no-skill'],
    ['pending'],
    ['pending', '--json'],
    ['why', 'maps', '--json'],
  ]
  const run = (): readonly unknown[] =>
    verbs.map(verb => {
      const { status, stdout, stderr } = stoke([...verb, ...place])
      const answer = withoutCounts(stdout).replace(/,\s*"from": \{[^}]*\}/, '')
      return [verb.slice(0, 2), status, answer, stderr]
    })
  const scanned = run()
  // The newest text of "maps" is broken, so the difference is the one between the served and the broken text.
  expect(stoke(['diff', 'maps', ...place]).stdout).toMatch(
    /-> the broken text\n(?:.*\n)+-Finds routes\.\n\+no frontmatter/,
  )
  await using dev = await startDev({
    root: folder.at('skills'),
    state: folder.at('state'),
    args: ['--no-agent', '--frozen'],
  })
  expect(run()).toEqual(scanned)
  expect(stoke(['why', 'refund', '--json', ...place]).json).toMatchObject({
    from: { kind: 'dev', url: dev.url },
  })
})

test('the API refuses a rollback through a link, as the command line does', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('elsewhere/refund', { body: 'Within 30 days.' })
  mkdirSync(folder.at('skills'))
  symlinkSync(folder.at('elsewhere/refund'), folder.at('skills/refund'))
  await using dev = await startDev({
    root: folder.at('skills'),
    state: folder.at('state'),
    args: ['--no-agent', '--link-root', folder.at('elsewhere')],
  })
  const { revision } = await dev.client.skill('refund')
  folder.writeSkill('elsewhere/refund', { body: 'Within 60 days.' })
  await dev.client.reload()
  await expect(dev.client.rollback('refund', revision ?? '')).rejects.toMatchObject({
    code: 'READ_ONLY',
    message: expect.stringContaining('rollback does not write through links'),
  })
  const place = ['--root', folder.at('skills'), '--state', folder.at('state')]
  const run = stoke(['rollback', 'refund', ...place, '--link-root', folder.at('elsewhere')])
  expect([run.status, run.stderr]).toEqual([2, expect.stringContaining('does not write through links')])
})
