import { expect, test } from 'vitest'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { FileSource } from '../source/file-source.ts'
import { NO_SETTLE } from '../source/settle.ts'
import { createSkillRuntime } from './create-skill-runtime.ts'

const UNSAFE = /[[\p{Cc}--[\t\n]]\p{Bidi_Control}\u2028\u2029]/v
const HUGE = 'x'.repeat(900_000)
const MANY = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`field${index}`, 1]))
const CONTROLS = 'a\rb\u202ec\u0007d\u2066e\u2028f\u009bg'
const SHOWN = String.raw`a\rb\u202ec\u0007d\u2066e\u2028f\u009bg`

async function open(files: Readonly<Record<string, string>>) {
  const fileSystem = new MemoryFileSystem(files)
  const source = new FileSource({ fileSystem, root: '/skills', label: 'a', watching: 'off' })
  return {
    fileSystem,
    skills: await createSkillRuntime({ sources: [source], tuning: { settle: NO_SETTLE } }),
  }
}

test('no call repeats a huge argument in its error or answer', async () => {
  const it = await open({ '/skills/a/SKILL.md': '---\nname: a\ndescription: A.\n---\nx' })
  await using skills = it.skills
  const session = skills.session({ id: 's' })
  const answers: string[] = []
  for (const tool of session.tools)
    for (const field of Object.keys(tool.inputSchema.properties)) {
      answers.push((await tool.execute({ name: 'a', path: 'b', [field]: HUGE })).text)
      answers.push((await tool.execute({ name: 'a', path: 'b', [field]: [HUGE] })).text)
      answers.push((await tool.execute({ [HUGE]: 1 })).text, (await tool.execute(MANY)).text)
    }
  const calls: readonly (() => unknown)[] = [
    () => skills.load(HUGE),
    () => skills.readFile(skills.current.get('a'), HUGE),
    () => skills.current.get(HUGE),
    () => skills.session({ id: HUGE.repeat(2) }),
    () => skills.session({ id: 't', [HUGE]: 1 }),
    () => skills.session({ id: 't', delivery: HUGE as never }),
    () => skills.session({ id: 't', scope: { include: HUGE as never } }),
    () => skills.review.approve(HUGE),
    () => skills.review.approve(`a@${HUGE}`),
    () => it.fileSystem.read(HUGE, { inside: ['/skills'], maxBytes: 1 }),
  ]
  for (const call of calls)
    try {
      await call()
    } catch (thrown) {
      answers.push((thrown as Error).message)
    }
  answers.push(session.describeUnknownTool(HUGE, []), session.checkTool(HUGE, {}) ?? '')
  answers.push(JSON.stringify((await skills.why(HUGE)).steps))
  expect(answers.length).toBeGreaterThan(15)
  const long = answers.filter(answer => answer.length > 6_000)
  expect(long.map(answer => `${answer.slice(0, 200)} ... ${answer.slice(-200)}`)).toEqual([])
})

test('names, descriptions, catalogs, notices and findings contain no control characters', async () => {
  const text = JSON.stringify(CONTROLS)
  const fields = `description: ${text}\nlicense: ${text}\ncompatibility: ${text}\nmetadata: { m: ${text}, ${text}: m }`
  const it = await open({
    '/skills/a/SKILL.md': `---\nname: a\n${fields}\n${text}: unknown\n---\nraw \r ${CONTROLS}`,
    '/skills/b/SKILL.md': `---\nname: ${text}\ndescription: b\n---\nx`,
    [`/skills/c/\u202e\u2066.md`]: 'x',
    [`/skills/c/\u202ekey.pem`]: '-----BEGIN PRIVATE KEY-----\nx\n',
    [`/skills/c\u202e/SKILL.md`]: '---\nname: c\ndescription: c\n---\nx',
    '/skills/c/SKILL.md': `---\nname: c\ndescription: c\n---\nx`,
  })
  await using skills = it.skills
  const skill = skills.current.get('a')
  expect([skill.description, skill.license, skill.compatibility]).toEqual([SHOWN, SHOWN, SHOWN])
  expect(skill.metadata).toEqual({ m: SHOWN, [SHOWN]: 'm' })
  const session = skills.session({ id: 's' })
  it.fileSystem.write(
    '/skills/d/SKILL.md',
    `---\nname: d\ndescription: ${JSON.stringify(`new ${CONTROLS}`)}\n---\nx`,
  )
  await skills.reload()
  const shown = [
    ...skills.current
      .reports()
      .flatMap(({ name, diagnostics }) => [
        name,
        ...diagnostics.flatMap(({ message, fix }) => [message, fix ?? '']),
      ]),
    session.catalog,
    (await session.update())?.text ?? '',
    (await session.tools[0]?.execute({}))?.text ?? '',
    (await session.tools[0]?.execute({ name: CONTROLS }))?.text ?? '',
  ]
  expect(shown.join('\n')).toContain('\\u202e')
  for (const each of shown) expect(each).not.toMatch(UNSAFE)
  // The bytes that a digest covers stay as they are.
  expect((await skills.load('a')).body).toContain(CONTROLS)
})
