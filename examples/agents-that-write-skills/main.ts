// The use case of RustFox: a user teaches the agent a task. The agent writes a skill of several files, reloads its skills, and uses the new skill in the same conversation. After a restart the conversation continues. Bundled skills have a lower precedence and stay unchanged.
// Run it with `npx node examples/agents-that-write-skills/main.ts`.
import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createOfflineModel, openConversationStore, SkillAgent } from '@skillstoke/agent'
import { createSkillRuntime, type SkillRuntime } from '@skillstoke/core'
import { bundledSkills, directory, openState } from '@skillstoke/core/node'

const base = await mkdtemp(join(tmpdir(), 'skillstoke-example-'))
const folder = join(base, 'skills')
const database = join(base, 'state/conversations.sqlite')
const CHAT = 'chat-1'

/** Skills that the agent wrote take precedence over bundled skills. Revisions that wait for approval still wait after a restart, because the state directory records them. */
const openSkills = async (): Promise<SkillRuntime> =>
  await createSkillRuntime({
    sources: [directory(folder, { writable: true }), bundledSkills()],
    state: await openState(join(base, 'state')),
  })

{
  await using skills = await openSkills()
  await using store = await openConversationStore(database)
  const writer = skills.writer()
  const agent = new SkillAgent({ skills, model: createOfflineModel(), writer, store })
  const conversation = agent.conversation(CHAT)
  assert.match(conversation.system, /<name>creating-skills<\/name>/)

  const request =
    'Create a skill called release-notes: Write one line for each change, in the words of a user. ' +
    'For example: Added: a dark theme.'
  for await (const event of conversation.stream(request)) {
    if (event.kind === 'tool-call') console.log('calls', event.name, JSON.stringify(event.input).slice(0, 80))
    if (event.kind === 'finish') console.log('agent:', event.text)
  }
  assert.deepEqual((await readdir(join(folder, 'release-notes'))).sort(), ['SKILL.md', 'examples.md'])
  const examples = join(folder, 'release-notes/examples.md')
  assert.equal(await readFile(examples, 'utf8'), 'Added: a dark theme.\n')

  // The same conversation gets a notice of the new skill, loads the skill and uses it.
  const { text } = await conversation.send('Please write the release notes.')
  console.log('agent:', text)
  assert.match(text, /^By the skill release-notes .*Write one line for each change/)

  // No other conversation gets the new skill before a person approves it.
  assert.equal(skills.current.find('release-notes'), undefined)
  assert.deepEqual(
    skills.review.pending().map(({ name }) => name),
    ['release-notes'],
  )
  await skills.review.approve('release-notes', { by: 'ada' })

  // The writer refuses invalid skills, and refuses to overwrite files that changed since the agent read them.
  const skill = skills.current.get('release-notes')
  const broken = { skill: skill.name, path: 'SKILL.md', content: '---\nname: release-notes\n---\n' }
  await assert.rejects(writer.write(broken), { code: 'SKILL_INVALID' })
  await writeFile(examples, 'Fixed: by a person.\n')
  const baseDigest = skill.files.find(file => file.path === 'examples.md')?.digest ?? ''
  const late = { skill: skill.name, path: 'examples.md', content: 'Mine.', baseDigest }
  await assert.rejects(writer.write(late), { code: 'CHANGED_SINCE_READ' })
}

// After a restart, another process continues the conversation and reports the skills that changed while no process was running.
{
  const skillFile = join(folder, 'release-notes/SKILL.md')
  await writeFile(skillFile, (await readFile(skillFile, 'utf8')).replace('one line', 'two lines'))
  await using skills = await openSkills()
  await using store = await openConversationStore(database)
  const before = await store.read('local', CHAT)
  const agent = new SkillAgent({ skills, model: createOfflineModel(), store })
  const conversation = await agent.open(CHAT)
  const { text } = await conversation.send('And the release notes once more?')
  console.log('agent, after a restart:', text)
  assert.match(text, /Write two lines for each change/)
  // The next model request repeats all earlier messages unchanged, including the original system text.
  assert.deepEqual((await store.read('local', CHAT)).slice(0, before.length), before)
  assert.doesNotMatch(JSON.stringify(before[0]), /release-notes/)
  assert.equal(conversation.system, before[0]?.content)

  // A skill in quarantine is not served any more, but its files are kept.
  const place = await skills.writer().quarantine('release-notes')
  assert.equal(skills.current.find('release-notes'), undefined)
  assert.deepEqual((await readdir(place)).sort(), ['SKILL.md', 'examples.md'])
}
await rm(base, { recursive: true })
