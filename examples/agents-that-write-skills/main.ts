// RustFox's story: a user teaches the agent something. It writes a skill of several files, reloads, and uses it in the same
// conversation; after a restart the conversation goes on. Bundled skills lie beneath and are never written to.
// Run it with `node examples/agents-that-write-skills/main.ts`.
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

/** What is written comes first, what the program brings along beneath it; what is held stays held after a restart. */
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

  // In the same conversation: announced, loaded, used.
  const { text } = await conversation.send('Please write the release notes.')
  console.log('agent:', text)
  assert.match(text, /^By the skill release-notes .*Write one line for each change/)

  // Nobody else has it before a person has read it.
  assert.equal(skills.current.find('release-notes'), undefined)
  assert.deepEqual(
    skills.review.pending().map(({ name }) => name),
    ['release-notes'],
  )
  await skills.review.approve('release-notes', { by: 'ada' })

  // The writer refuses what could not be served, and what somebody else has changed meanwhile.
  const skill = skills.current.get('release-notes')
  const broken = { skill: skill.name, path: 'SKILL.md', content: '---\nname: release-notes\n---\n' }
  await assert.rejects(writer.write(broken), { code: 'SKILL_INVALID' })
  await writeFile(examples, 'Fixed: by a person.\n')
  const baseDigest = skill.files.find(file => file.path === 'examples.md')?.digest ?? ''
  const late = { skill: skill.name, path: 'examples.md', content: 'Mine.', baseDigest }
  await assert.rejects(writer.write(late), { code: 'CHANGED_SINCE_READ' })
}

// Another process, later: the same conversation, with what changed since.
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
  // What was said is as it was said, and sent again as it was, the system text of that day included.
  assert.deepEqual((await store.read('local', CHAT)).slice(0, before.length), before)
  assert.doesNotMatch(JSON.stringify(before[0]), /release-notes/)
  assert.equal(conversation.system, before[0]?.content)

  // Putting a skill aside: it is gone from every reader, and its files are kept.
  const place = await skills.writer().quarantine('release-notes')
  assert.equal(skills.current.find('release-notes'), undefined)
  assert.deepEqual((await readdir(place)).sort(), ['SKILL.md', 'examples.md'])
}
await rm(base, { recursive: true })
