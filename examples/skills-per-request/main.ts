// The use case of pai: the instructions of each request list the skills of the agent's folders. The agent reads and runs the skills with its own file and shell tools. A hook prepares the folders before each scan.
// Run it with `npx node examples/skills-per-request/main.ts`.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { SHARED_SKILLS_DIR_NAME, SkillToolset } from '@skillstoke/compat'
import { NodeFileSystem } from '@skillstoke/core/node'

const base = await mkdtemp(join(tmpdir(), 'skillstoke-example-'))
const config = join(base, 'config')
const project = join(base, 'project')
const save = async (path: string, content: string): Promise<void> => {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, content)
}
const skill = (name: string, description: string, body = ''): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n${body}\n`

// The agent has a file operator and a shell, which both see the same files.
const fileOperator = new NodeFileSystem()
const shell = async (command: string, cwd: string): Promise<string> =>
  (await promisify(execFile)('sh', ['-c', command], { cwd })).stdout
const readFile = async (path: string): Promise<string> =>
  new TextDecoder().decode((await fileOperator.read(path, { inside: [base], maxBytes: 100_000 })).bytes)
const context = { fileOperator, shell, allowedPaths: [config, project] }

const description = 'Counts words <quickly> & well.'
await save(join(config, 'skills/count/SKILL.md'), skill('count', 'Counts words, for everybody.'))
await save(join(project, SHARED_SKILLS_DIR_NAME, 'count/SKILL.md'), skill('count', 'Counts words, shared.'))
const skillFile = join(project, 'skills/count/SKILL.md')
await save(skillFile, skill('count', description, 'Run `sh scripts/count.sh FILE`.'))
await save(join(project, 'skills/count/scripts/count.sh'), 'wc -w < "$1" | tr -d " "\n')
await save(join(project, 'notes.txt'), 'four words in it')

const builtIn = { 'built-in': skill('built-in', 'Comes with the program.') }
await using toolset = new SkillToolset<NodeFileSystem>('skills', {
  extraDirNames: [SHARED_SKILLS_DIR_NAME],
  preScanHook: async ({ skillsDirName }, { fileOperator: files, allowedPaths }) => {
    const [inside = ''] = allowedPaths
    for (const [name, text] of Object.entries(builtIn)) {
      const path = `${inside}/${skillsDirName}/${name}/SKILL.md`
      const names = (await files?.list(`${inside}/${skillsDirName}`))?.map(entry => entry.name)
      if (names?.includes(name) === false)
        await files?.write(path, new TextEncoder().encode(text), { inside })
    }
  },
})

// Request 1: the system text includes the list of skills. For skills of the same name, a later path overrides an earlier path, and the main folder overrides the shared folder.
const instructions = (await toolset.getInstructions(context)) ?? ''
console.log(instructions)
assert(instructions.includes('<description>Counts words &lt;quickly&gt; &amp; well.</description>'))
assert(instructions.includes('<skill name="built-in">'))

// The agent uses a skill with its own tools: it reads SKILL.md, and runs the command that SKILL.md names.
const path = /<skill name="count">\s*.*\s*<path>(.*?)<\/path>/.exec(instructions)?.[1] ?? ''
const command = /`(sh .*) FILE`/.exec(await readFile(`${path}/SKILL.md`))?.[1] ?? ''
const answer = await shell(`${command} ${join(project, 'notes.txt')}`, path)
console.log('the agent ran:', command, '->', answer.trim())
assert.equal(answer.trim(), '4')

// Request 2: an edited body leaves the system text byte-identical, so the prompt cache stays valid. When the agent reads SKILL.md again, it gets the new body.
const before = await toolset.getSkills(context)
await save(skillFile, skill('count', description, 'Count by hand.'))
assert.equal(await toolset.getInstructions(context), instructions)
assert.deepEqual(
  (await toolset.getSkills(context)).map((each, index) => each === before[index]),
  [true, true],
)
assert.match(await readFile(`${path}/SKILL.md`), /Count by hand/)

// Request 3: an edited description changes the system text. `getSkills()` returns a new object only for this skill.
await save(skillFile, skill('count', 'Counts letters.', 'Count by hand.'))
assert.match((await toolset.getInstructions(context)) ?? '', /Counts letters\./)
assert.deepEqual(
  (await toolset.getSkills(context)).map((each, index) => [each.name, each === before[index]]),
  [
    ['built-in', true],
    ['count', false],
  ],
)
await rm(base, { recursive: true })
