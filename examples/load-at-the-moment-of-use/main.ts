// The use case of crabtalk: folders are not watched. A skill is read from its folder when a tool call or a slash command asks for it. An agent's scope limits which skills tool calls and slash commands find.
// Run it with `npx node examples/load-at-the-moment-of-use/main.ts`.
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SkillHandler } from '@skillstoke/compat'

const base = await mkdtemp(join(tmpdir(), 'skillstoke-example-'))
const save = async (folder: string, name: string, body: string, fields = ''): Promise<void> => {
  await mkdir(join(base, folder), { recursive: true })
  const text = `---\nname: ${name}\ndescription: Handles ${name}.\n${fields}---\n${body}\n`
  await writeFile(join(base, folder, 'SKILL.md'), text)
}
const fields = 'argument-hint: "[file]"\nallowed-tools: Read Grep\n'
await save('local/review', 'review', 'Read $file. Then say what is wrong.', fields)
await save('local/ops/deploy', 'deploy', 'Deploy at night.')
await save('shared/review', 'review', 'The shared review.')
await save('shared/.drafts/secret', 'secret', 'Nobody sees this.')

// If two folders have a skill of the same name, the skill of the first folder is used. A missing folder is not an error.
await using handler = await SkillHandler.load(['local', 'missing', 'shared'].map(name => join(base, name)))
const reviewer = { skills: ['review'] }

// If the text is the name of a skill, the tool loads this skill. If the text is empty, the tool lists all skills. For any other text, the tool searches. Every answer contains only skills in the scope of the agent.
assert.match(await handler.call({ name: 'review' }), /^Read \$file\. .*\n\nSkill directory: .*local\/review$/)
assert.match(await handler.call({ name: 'deploy' }), /Deploy at night/)
assert.equal(await handler.call({ name: 'deploy' }, reviewer), 'skill not available: deploy')
assert.equal(await handler.call({ name: '' }, reviewer), 'review: Handles review.')
assert.equal(await handler.call({ name: 'HANDLES DEP' }), 'deploy: Handles deploy.')
assert.equal(await handler.call({ name: '../secret' }), 'invalid skill name: ../secret')

// After an edit, the next call returns the new text, although nothing was restarted or watched.
await save('local/ops/deploy', 'deploy', 'Deploy in the morning.')
console.log(await handler.call({ name: 'deploy' }))
assert.match(await handler.call({ name: 'deploy' }), /in the morning/)

// The program replaces a slash command with the instructions of the skill before the model sees the message.
const message = await handler.resolveSlash('/review src/main.rs', reviewer)
console.log(message)
const block = '<skill name="review">\nRead src/main.rs. Then say what is wrong.\n</skill>'
assert.equal(message, `src/main.rs\n\n${block}`)
assert.equal(await handler.resolveSlash('/deploy now', reviewer), '/deploy now')
assert.equal(await handler.resolveSlash('/reviewer'), '/reviewer')

// While a skill is active, the conversation can refuse all tools that are not in the `allowed-tools` of the skill.
const session = handler.runtime.session({
  id: 'chat',
  scope: { include: ['review'] },
  allowedTools: 'enforce',
})
session.beginTurn()
await session.expandSlash('/review src/main.rs')
console.log(session.checkTool('Write', { path: 'src/main.rs' }))
assert.match(session.checkTool('Write', {}) ?? '', /allowed: Read, Grep$/)
assert.equal(session.checkTool('Read', { path: 'src/main.rs' }), undefined)
await rm(base, { recursive: true })
