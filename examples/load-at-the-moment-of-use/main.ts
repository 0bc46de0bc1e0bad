// crabtalk's story: nothing is watched. A skill is read from its folder when somebody asks for it, by tool or by slash
// command, and each agent sees what its scope allows, wherever it looks.
// Run it with `node examples/load-at-the-moment-of-use/main.ts`.
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

// In the order of the configuration: the first folder wins where two have a name. One that is missing is no error.
await using handler = await SkillHandler.load(['local', 'missing', 'shared'].map(name => join(base, name)))
const reviewer = { skills: ['review'] }

// The tool: exact names load, other words search, an empty name lists; the scope holds for all of it.
assert.match(await handler.call({ name: 'review' }), /^Read \$file\. .*\n\nSkill directory: .*local\/review$/)
assert.match(await handler.call({ name: 'deploy' }), /Deploy at night/)
assert.equal(await handler.call({ name: 'deploy' }, reviewer), 'skill not available: deploy')
assert.equal(await handler.call({ name: '' }, reviewer), 'review: Handles review.')
assert.equal(await handler.call({ name: 'HANDLES DEP' }), 'deploy: Handles deploy.')
assert.equal(await handler.call({ name: '../secret' }), 'invalid skill name: ../secret')

// An edit is there at the next call: nothing is restarted, nothing was watched.
await save('local/ops/deploy', 'deploy', 'Deploy in the morning.')
console.log(await handler.call({ name: 'deploy' }))
assert.match(await handler.call({ name: 'deploy' }), /in the morning/)

// A slash command becomes instructions before the model sees the message.
const message = await handler.resolveSlash('/review src/main.rs', reviewer)
console.log(message)
const block = '<skill name="review">\nRead src/main.rs. Then say what is wrong.\n</skill>'
assert.equal(message, `src/main.rs\n\n${block}`)
assert.equal(await handler.resolveSlash('/deploy now', reviewer), '/deploy now')
assert.equal(await handler.resolveSlash('/reviewer'), '/reviewer')

// What the skill says about tools can be enforced in a conversation while it is active.
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
