import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type CliRun, stoke, stokeBeside } from './fixtures/cli.ts'
import { startDev } from './fixtures/dev.ts'
import { type ChatReply, OpenAiServer } from './fixtures/openai-server.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

interface TestAnswer {
  readonly tier: string
  readonly skills: readonly {
    readonly skill: string
    readonly counts: Record<'fires' | 'silent', Record<string, number>>
    readonly cases: readonly { readonly message: string; readonly verdict: string; readonly line?: number }[]
  }[]
  readonly withoutTests: readonly string[]
  readonly messages: readonly { readonly ranking: readonly { readonly skill: string }[] }[]
  readonly faults: readonly { readonly path: string; readonly line: number }[]
}

const ADS = 'Plans paid campaigns on LinkedIn and Facebook, with bids and budgets. Use for campaigns.'
const CREATIVE = 'Writes headlines for paid ads on LinkedIn and Facebook. Use when an ad needs a text.'

function makeSkills(): { folder: TemporaryFolder; place: readonly string[] } {
  const folder = new TemporaryFolder()
  folder.writeSkill('skills/invoices', {
    description: 'Fills in PDF invoices. Use when an invoice has to be completed.',
    body: 'Scan the pages, then merge them.',
  })
  folder.writeSkill('skills/images', { description: 'Crops and glues scans together.', body: 'Run convert.' })
  folder.write(
    'skills/invoices/evals/tests.yaml',
    'fires:\n  - Please complete this PDF invoice\n  - glue these pages together\nsilent:\n  - crop the scans\n  - 12\n',
  )
  return { folder, place: ['--root', folder.at('skills'), '--state', folder.at('state')] }
}

test('stoke test shows each verdict with its words, and never fails', () => {
  const { folder, place } = makeSkills()
  using _ = folder
  const { status, stdout, stderr } = stoke(['test', ...place])
  expect(status).toBe(0)
  expect(stdout).toContain('invoices  words only, no model was asked')
  expect(stdout).toMatch(/fires +1 of 2 likely, 1 no match in words/)
  expect(stdout).toMatch(/near misses +1 of 1 go elsewhere or match nothing/)
  expect(stdout).toMatch(
    /"glue these pages together" +first: images \(glue, together\); add to the description, as the body has them: pages/,
  )
  expect(stdout).toContain('no messages in evals/tests.yaml: images')
  expect(stderr).toMatch(/evals\/tests\.yaml:6: the message is read as 12/)
})

test('stoke test --json has all numbers, and the places of faults', () => {
  const { folder, place } = makeSkills()
  using _ = folder
  const { json } = stoke<TestAnswer>(['test', folder.at('skills/invoices'), '--json', ...place])
  expect(json).toMatchObject({
    tier: 'words',
    withoutTests: [],
    skills: [
      {
        skill: 'invoices',
        counts: { fires: { likely: 1, 'no match in words': 1 }, silent: { 'no match in words': 1 } },
        cases: [{ rank: 1, line: 2, bodyRank: 1 }, { rank: null, margin: expect.any(Number) }, {}],
      },
    ],
    faults: [{ path: folder.at('skills/invoices/evals/tests.yaml'), line: 6 }],
  })
})

test('stoke test reads messages from standard input, for one skill or for all', () => {
  const { folder, place } = makeSkills()
  using _ = folder
  const input = 'crop this scan\n\ncrop this scan\n'
  expect(stoke<TestAnswer>(['test', '-', '--json', ...place], { input }).json.messages).toMatchObject([
    { message: 'crop this scan', ranking: [{ skill: 'images' }] },
  ])
  expect(stoke<TestAnswer>(['test', 'images', '-', '--json', ...place], { input }).json.skills).toMatchObject(
    [{ skill: 'images', cases: [{ message: 'crop this scan', kind: 'fires', verdict: 'likely' }] }],
  )
  expect(stoke(['test', '-', ...place], { input: '\n' })).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('standard input has no message'),
  })
})

test('stoke test says what to do about a skill without tests, and names a similar skill', () => {
  const { folder, place } = makeSkills()
  using _ = folder
  expect(stoke(['test', 'images', ...place]).stdout).toMatch(
    /no messages in evals\/tests\.yaml: images\nwrite messages below "fires:"/,
  )
  expect(stoke(['test', 'image', ...place])).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('did you mean "images"'),
  })
  folder.write('skills/broken/SKILL.md', 'no frontmatter')
  const broken = stoke(['test', folder.at('skills/broken'), ...place])
  expect([broken.status, broken.stderr]).toEqual([
    2,
    expect.stringContaining('no revision of broken is served'),
  ])
})

test('stoke test --export writes the convention, which is read back from evals/', () => {
  const { folder, place } = makeSkills()
  using _ = folder
  const file = folder.at('skills/images/evals/trigger-evals.json')
  const { stdout } = stoke(['test', 'invoices', '--export', file, ...place])
  expect(stdout).toContain('wrote 3 messages of invoices')
  expect(JSON.parse(readFileSync(file, 'utf8'))[0]).toEqual({
    query: 'Please complete this PDF invoice',
    should_trigger: true,
  })
  expect(stoke<TestAnswer>(['test', 'images', '--json', ...place]).json.skills[0]?.cases).toHaveLength(3)
  expect(stoke(['test', '--export', '-', ...place])).toMatchObject({ status: 2 })
})

test('a skill that only people invoke is not estimated', () => {
  const { folder, place } = makeSkills()
  using _ = folder
  const description = 'Deploys.\ndisable-model-invocation: true'
  folder.writeSkill('skills/deploy', { description })
  folder.write('skills/deploy/evals/tests.yaml', 'fires: [Deploy it]')
  expect(stoke(['test', 'deploy', ...place]).stdout).toContain('a model cannot load this skill by itself')
  expect(stoke(['test', ...place]).stdout).not.toContain('deploy')
})

test('stoke collisions shows pairs, settled pairs last, and messages that go to the wrong skill', () => {
  using folder = new TemporaryFolder()
  const place = ['--root', folder.at('skills'), '--state', folder.at('state')]
  folder.writeSkill('skills/ads', { description: ADS })
  folder.writeSkill('skills/ad-creative', { description: CREATIVE })
  folder.writeSkill('skills/maps', { description: 'Draws maps of cities.' })
  folder.write('skills/ad-creative/evals/tests.yaml', 'fires: [Plan bids for paid LinkedIn campaigns]')
  const { status, stdout } = stoke(['collisions', ...place])
  expect(status).toBe(0)
  expect(stdout).toMatch(/these fight {2}ad-creative \(.+\) and ads \(.+\)\n {2}shared: .*linkedin/)
  expect(stdout).toContain('"Plan bids for paid LinkedIn campaigns" is for ad-creative, but ads is first')
  expect(stdout).toContain('3 skills, pairs: 1 fight, 0 to look at, 0 settled')
  expect(stoke<{ pairs: unknown[] }>(['collisions', 'maps', '--json', ...place]).json.pairs).toEqual([])
  folder.writeSkill('skills/ads', { description: `${ADS} For headlines, use ad-creative.` })
  expect(stoke(['collisions', 'ads', ...place]).stdout).toMatch(
    /settled {2}.*\n {2}ads says: For headlines, use ad-creative\.\n/,
  )
})

test('stoke add shows the collisions of what it added', () => {
  using folder = new TemporaryFolder()
  mkdirSync(folder.at('project'))
  folder.writeSkill('project/skills/ads', { description: ADS })
  folder.writeSkill('other/ad-creative', { description: CREATIVE })
  const options = { cwd: folder.at('project'), env: { HOME: folder.at('home'), NO_COLOR: '1' } }
  const state = ['--state', folder.at('state')]
  const added = stoke(['add', folder.at('other'), ...state], options)
  expect(added).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/added ad-creative(?:.*\n)+these fight/),
  })
  const again = stoke<{ collisions: unknown[] }[]>(['add', folder.at('other'), '--json', ...state], options)
  expect(again.json[0]?.collisions).toMatchObject([
    { kind: 'fight', shared: expect.arrayContaining(['paid']) },
  ])
})

test('stoke dev prints new collisions and the estimate of the tests after a save', async () => {
  using folder = new TemporaryFolder()
  folder.writeSkill('skills/ads', { description: ADS })
  folder.writeSkill('skills/ad-creative', { description: 'Draws pictures of llamas.' })
  folder.write(
    'skills/ad-creative/evals/tests.yaml',
    'fires: [Write a headline for a paid ad]\nsilent: [Draw a map]\n',
  )
  await using dev = await startDev({
    root: folder.at('skills'),
    state: folder.at('state'),
    args: ['--no-agent'],
    env: { NO_COLOR: '1' },
  })
  folder.writeSkill('skills/ad-creative', { description: CREATIVE })
  await dev.printed(/COLLISION ad-creative fights with ads: /)
  await dev.printed(/tests ad-creative: 1 of 1 fires likely, 1 of 1 silent elsewhere \(words only\)/)
  const from = dev.output().length
  folder.write('skills/ad-creative/evals/tests.yaml', 'fires: [Write a headline, Plan bids and budgets]')
  await dev.printed(/tests ad-creative: \d of 2 fires likely \(words only\)/, from)
  expect(dev.output().slice(from)).not.toContain('COLLISION')
  const next = dev.output().length
  folder.write('skills/ad-creative/evals/tests.yaml', 'fires: [Write a headline, 12]')
  await dev.printed(/the message is read as 12/, next)
  await dev.printed(/tests ad-creative: /, next)
  expect(
    dev
      .output()
      .slice(next)
      .match(/the message is read as 12/g),
  ).toHaveLength(1)
})

interface ModelAnswer {
  readonly skills: readonly {
    readonly triggers: { readonly passed: number; readonly total: number; readonly spent: { calls: number } }
    readonly against?: { readonly passed: number; readonly total: number }
    readonly answers?: { readonly columns: readonly string[] }
  }[]
}

test('stoke test --model asks about each message once, within --max-calls, and compares with the last revision', async () => {
  const { folder, place } = makeSkills()
  using _ = folder
  const toReply = (_call: number, { messages }: { messages: readonly { content: unknown }[] }): ChatReply =>
    JSON.stringify(messages.at(-1)?.content).includes('invoice') && messages.at(-1) === messages[1]
      ? { kind: 'tool', name: 'skill', input: { name: 'invoices' } }
      : { kind: 'text', text: 'Done.' }
  await using server = await OpenAiServer.start(toReply)
  const test = async (...args: string[]): Promise<ModelAnswer['skills'][number] | undefined> => {
    const model = ['--model', 'test', '--base-url', server.baseUrl, '--json']
    const { json } = await stokeBeside<ModelAnswer>(['test', 'invoices', ...model, ...args, ...place])
    return json.skills[0]
  }
  stoke(['list', ...place])
  expect((await test('--max-calls', '1'))?.triggers).toMatchObject({ stopped: 'calls', total: 1 })
  expect((await test())?.triggers).toMatchObject({ passed: 2, total: 3, known: 1, spent: { calls: 2 } })
  const report = folder.at('report.html')
  const file = 'skills/invoices/evals/tests.yaml'
  folder.write(
    file,
    `${readFileSync(folder.at(file), 'utf8')}ask:\n  - message: Pay\n    expect: { contains: done }\n`,
  )
  const answered = await test('--answers', '--report', report)
  expect(answered?.triggers.spent.calls).toBe(0)
  expect(answered?.answers).toMatchObject({
    columns: ['without the skill', 'served'],
    rows: [{ cells: [{ passed: 1 }, { passed: 1 }] }],
  })
  expect(readFileSync(report, 'utf8')).toContain('1 of 1 pass')
  const against = await test('--against', 'last-good')
  expect(against?.against).toMatchObject({ passed: 2, total: 3 })
  expect(against?.triggers.spent.calls).toBe(0)
})

interface TriedAnswer {
  readonly skills: readonly {
    readonly triggers: { readonly passed: number; readonly error?: string }
    readonly against?: { readonly passed: number }
  }[]
}

/** A server that loads the skill "invoices" if its description and the message have the word "pages". */
async function startModel(): Promise<OpenAiServer> {
  return await OpenAiServer.start((_call, { messages }): ChatReply => {
    const [system, message] = messages.map(({ content }) => JSON.stringify(content))
    return system?.includes('Fills in pages') && message?.includes('pages')
      ? { kind: 'tool', name: 'skill', input: { name: 'invoices' } }
      : { kind: 'text', text: 'No.' }
  })
}

test('stoke test --model compares with an earlier revision, and leaves no trace of it in the history', async () => {
  const { folder, place } = makeSkills()
  using _ = folder
  await using server = await startModel()
  const run = async (...args: string[]): Promise<CliRun<TriedAnswer>> =>
    await stokeBeside<TriedAnswer>([
      ...['test', 'invoices', '--model', 'test', '--base-url', server.baseUrl],
      ...[...place, '--json', ...args],
    ])
  expect((await run()).json.skills).toMatchObject([{ triggers: { passed: 1, spent: { calls: 3 } } }])
  folder.writeSkill('skills/invoices', { description: 'Fills in pages.', body: 'Merge them.' })
  const log = stoke(['log', 'invoices', ...place]).stdout
  expect((await run('--against', 'last-good')).json.skills).toMatchObject([
    { triggers: { passed: 2, spent: { calls: 3 } }, against: { passed: 1 } },
  ])
  expect(stoke(['log', 'invoices', ...place]).stdout).toBe(log)
  // The newest text is broken, so the last good one is served. It is not the revision of the trial.
  folder.write('skills/invoices/SKILL.md', 'broken')
  expect(stoke(['show', 'invoices', ...place]).stdout).toContain('Fills in pages.')
})

test('stoke test --dry-run asks nothing, and gives the estimate of each skill', async () => {
  const { folder, place } = makeSkills()
  using _ = folder
  folder.write('skills/images/evals/tests.yaml', 'fires: [Crop it]')
  await using server = await startModel()
  const words = ['test', '--model', 'test', '--base-url', server.baseUrl, '--dry-run', '--json', ...place]
  expect((await stokeBeside(words)).json).toMatchObject({
    estimates: [
      { skill: 'images', calls: 1 },
      { skill: 'invoices', calls: 3 },
    ],
  })
  expect(server.requests).toEqual([])
})

test('stoke test reports a failing server in one line, and keeps no score', async () => {
  const { folder, place } = makeSkills()
  using _ = folder
  await using server = await OpenAiServer.start(() => ({ kind: 'status', status: 401 }))
  const words = ['test', 'invoices', '--model', 'test', '--base-url', server.baseUrl, ...place]
  const { status, stdout } = await stokeBeside(words)
  expect([status, stdout]).toEqual([1, expect.stringContaining('a message could not be tested')])
  expect(stdout).toContain('invoices  no message was answered')
  const { json } = await stokeBeside<TriedAnswer>([...words, '--json'])
  expect(json).toMatchObject({ skills: [{ triggers: { stopped: 'failed', error: 'status 401' } }] })
})

test.each([
  [['--against', '-1'], '--against needs --model'],
  [['--dry-run'], '--dry-run needs --model'],
  [['--model', 'test', '--report', 'x.html'], '--report writes the answers of "ask:"; add --answers'],
  [['--model', 'test'], 'the model "test" needs its server: add --base-url URL'],
  [['--model', 'offline', '--answers', '--report', '.'], '. is a folder; name a file'],
  [['--model', 'offline', '--max-cost', '1'], '--max-cost needs --price INPUT/OUTPUT'],
])('stoke test %j is refused', (words, message) => {
  const { folder, place } = makeSkills()
  using _ = folder
  const { status, stderr } = stoke(['test', 'invoices', ...words, ...place])
  expect([status, stderr]).toEqual([2, expect.stringContaining(message)])
})

test('stoke test asks before a revision that was never served goes to a model, and refuses one of another skill', async () => {
  const { folder, place } = makeSkills()
  using _ = folder
  await using server = await startModel()
  const run = async (...args: string[]): Promise<CliRun<TriedAnswer>> => {
    const model = ['--model', 'test', '--base-url', server.baseUrl]
    return await stokeBeside<TriedAnswer>(['test', 'invoices', ...model, ...place, '--json', ...args])
  }
  const digestOf = (name: string): string => {
    const { json } = stoke<{ skills: { name: string; revision: string }[] }>(['list', '--json', ...place])
    return json.skills.find(each => each.name === name)?.revision ?? ''
  }
  stoke(['list', '--frozen', ...place])
  folder.writeSkill('skills/invoices', { description: 'Fills in pages.', body: 'Merge them.' })
  const held = digestOf('invoices')
  expect(await run('--revision', held)).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('is not served; to send its catalog text to a model, add --yes'),
  })
  expect(server.requests).toEqual([])
  expect((await run('--revision', held, '--yes')).json.skills).toMatchObject([{ triggers: { passed: 2 } }])
  expect((await run('--revision', digestOf('images'))).stderr).toMatch(
    /never a revision of invoices|no longer stored/,
  )
})

test('stoke test --answers exits with 1 if an answer lacks something, and --dry-run estimates the answers', async () => {
  const { folder, place } = makeSkills()
  using _ = folder
  folder.write(
    'skills/images/evals/tests.yaml',
    'ask:\n  - message: Crop it\n    expect: [{ contains: cropped }, { judge: says how }]\n',
  )
  await using server = await startModel()
  const words = ['test', 'images', '--model', 'test', '--base-url', server.baseUrl, '--answers', ...place]
  const { stdout } = await stokeBeside([...words, '--dry-run'])
  expect(stdout).toMatch(/the answers, at least: will ask about 4 times \(0 known\)/)
  expect(server.requests).toEqual([])
  expect((await stokeBeside(words)).status).toBe(1)
})

test('stoke test --dry-run writes no report, and a run names the faults of the tests', async () => {
  const { folder, place } = makeSkills()
  using _ = folder
  folder.write(
    'skills/images/evals/tests.yaml',
    'ask:\n  - message: Crop it\n    expect: { contains: no }\nfirs: [a]\n',
  )
  await using server = await startModel()
  const report = folder.at('reports/answers.html')
  const model = ['--model', 'test', '--base-url', server.baseUrl, '--answers', '--report', report]
  const words = ['test', 'images', ...model, ...place]
  const dry = await stokeBeside([...words, '--dry-run'])
  expect([dry.status, existsSync(report)]).toEqual([0, false])
  const { status, stdout, stderr } = await stokeBeside(words)
  expect([status, stderr]).toEqual([0, expect.stringContaining('tests.yaml:4')])
  expect(stdout).toContain(`wrote the answers to ${report}`)
  expect(readFileSync(report, 'utf8')).toContain('<h2>images</h2>')
})

test('stoke test says that answers need a model, and what to do without skills', () => {
  const { folder, place } = makeSkills()
  using _ = folder
  folder.write('skills/images/evals/tests.yaml', 'ask:\n  - message: Crop it\n    expect: { contains: no }\n')
  expect(stoke(['test', 'images', ...place]).stdout).toContain(
    'a model answers the messages below "ask:"; add --model NAME',
  )
  using empty = new TemporaryFolder()
  expect(stoke(['test', '--root', empty.path, ...place.slice(-2)]).stdout).toContain('stoke new my-skill')
})

test('a save during a run changes nothing in the run', async () => {
  const { folder, place } = makeSkills()
  using _ = folder
  const catalogs = new Set<boolean>()
  await using server = await OpenAiServer.start((call, { messages }): ChatReply => {
    catalogs.add(JSON.stringify(messages[0]?.content).includes('Fills in pages'))
    if (call === 1)
      folder.writeSkill('skills/invoices', { description: 'Fills in pages.', body: 'Merge them.' })
    return { kind: 'text', text: 'No.' }
  })
  const model = ['--model', 'test', '--base-url', server.baseUrl, '--max-calls', '3']
  const { stdout } = await stokeBeside(['test', 'invoices', ...model, ...place])
  expect(stdout).toContain('3 asked')
  expect([...catalogs]).toEqual([false])
})

test('stoke test --revision newest tests the text that waits', async () => {
  const { folder, place } = makeSkills()
  using _ = folder
  await using server = await startModel()
  stoke(['list', '--frozen', ...place])
  folder.writeSkill('skills/invoices', { description: 'Fills in pages.', body: 'Merge them.' })
  const model = ['--model', 'test', '--base-url', server.baseUrl, '--revision', 'newest', '--json']
  const run = async (...args: string[]): Promise<CliRun<TriedAnswer>> =>
    await stokeBeside<TriedAnswer>(['test', 'invoices', ...model, ...place, ...args])
  expect((await run()).stderr).toContain('is not served; to send its catalog text to a model, add --yes')
  expect((await run('--yes')).json.skills).toMatchObject([{ triggers: { passed: 2 } }])
})
