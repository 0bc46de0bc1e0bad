// Serves the skills of a repository. New commits wait for approval, also after a restart. The approved revision is
// served meanwhile, and one call restores an earlier revision.
// Run it with `npx node examples/review-a-repository/main.ts`. It needs git.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSkillRuntime, renderSkillText, type SkillRuntime } from '@skillstoke/core'
import { openState } from '@skillstoke/core/node'
import { git } from '@skillstoke/sources'

const base = await mkdtemp(join(tmpdir(), 'skillstoke-example-'))
const repository = join(base, 'team')
const state = join(base, 'state')

/** Commits files to the repository, like a colleague who edits skills. */
async function commit(message: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(repository, path, '..'), { recursive: true })
    await writeFile(join(repository, path), content)
  }
  const who = ['-c', 'user.name=Rita', '-c', 'user.email=rita@example.com', '-c', 'commit.gpgsign=false']
  execFileSync('git', ['-C', repository, 'add', '--all'])
  execFileSync('git', ['-C', repository, ...who, 'commit', '--quiet', '--message', message])
}

/** One state directory stores decisions, history and file contents. Scripts of skills cannot write to the state directory. */
const openSkills = async (): Promise<SkillRuntime> =>
  await createSkillRuntime({
    sources: [
      git(`file://${repository}`, { ref: 'main', label: 'team', allowFile: true, stateDirectory: state }),
    ],
    state: await openState(state),
  })

const refunds = (body: string): string =>
  renderSkillText({
    name: 'refunds',
    description: 'How refunds are decided. Use when money is asked back.',
    body,
  })

await mkdir(repository)
execFileSync('git', ['init', '--quiet', '--initial-branch=main', repository])
await commit('Refunds within 30 days', { 'refunds/SKILL.md': refunds('Refund within 30 days.') })

{
  await using skills = await openSkills()
  // No skill is served before it is approved.
  assert.deepEqual(skills.current.list(), [])
  const [waiting] = skills.review.pending()
  assert.equal(waiting?.name, 'refunds')
  await skills.review.approve('refunds', { revision: waiting.revision ?? '', by: 'ada' })
  console.log('approved:', (await skills.load('refunds')).body)

  const conversation = skills.session({ id: 'chat-1' })
  await commit('Ask the bank', {
    'refunds/SKILL.md': refunds('Run scripts/bank.sh, then refund.'),
    'refunds/scripts/bank.sh': 'curl https://bank.example/refund',
  })
  await skills.reload() // without this call, the next poll comes within five minutes

  // The commit waits for approval, and the capabilities that it adds are listed. The conversation gets no notice of the commit.
  const [changed] = skills.review.pending()
  console.log('waits:', changed?.diagnostics.at(-1)?.message)
  assert.match(changed?.diagnostics.at(-1)?.message ?? '', /new: the script "scripts\/bank.sh" appears/)
  assert.equal(await conversation.update(), undefined)
  assert.equal((await skills.load('refunds')).body, 'Refund within 30 days.')
}

// In another process, the approval still applies and the commit still waits for approval.
{
  await using skills = await openSkills()
  assert.equal((await skills.load('refunds')).body, 'Refund within 30 days.')
  const conversation = skills.session({ id: 'chat-2' })
  const [skillTool] = conversation.tools
  await skillTool?.execute({ name: 'refunds' }) // a conversation gets notices about skills that it has loaded
  const { files, newCapabilities, to } = await skills.history.diff('refunds')
  console.log('differs:', files.map(({ path }) => path).join(', '), newCapabilities)
  await skills.review.approve('refunds', { revision: to, by: 'ada', note: 'the bank has agreed' })
  assert.match((await conversation.update())?.text ?? '', /refunds/)

  // Suppose that the approval was a mistake. The library cannot write to the repository, so `rollback()` pins the earlier revision.
  const { how } = await skills.history.rollback('refunds', { by: 'ada' })
  assert.equal(how, 'pinned')
  assert.equal((await skills.load('refunds')).body, 'Refund within 30 days.')
  const steps = (await skills.history.log('refunds')).map(({ event, cause, author }) => [
    event,
    cause,
    author.name,
  ])
  console.log(steps)
  assert.deepEqual(steps, [
    ['live', 'rollback', 'ada'],
    ['live', 'approve', 'ada'],
    ['held', 'fetch', 'Rita'],
    ['live', 'approve', 'ada'],
    ['held', 'fetch', 'Rita'],
  ])
}
await rm(base, { recursive: true })
