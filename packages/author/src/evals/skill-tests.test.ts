import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readEvalJson } from './read-eval-json.ts'
import { mayHaveTests, readSkillTests } from './read-skill-tests.ts'
import { readTestsYaml } from './read-tests-yaml.ts'
import { addTest, type NewTest, toTriggerEvals } from './write-tests.ts'

const faultsOf = (text: string): string[] =>
  readTestsYaml(text).faults.map(({ line, message, fix }) => `${line}: ${message}; ${fix}`)

describe('readTestsYaml()', () => {
  test('reads all sections with their lines', () => {
    const text = `# tests
fires:
  - Fill in this form
  - message: "Sign: the form"
    split: train
silent: [Why does my viewer flicker?]
ask:
  - message: Refund order 12
    expect:
      - contains: refund
      - matches: "\\\\d+ EUR"
        json: { total: 12 }
      - loads: refund-desk
      - calls: refund.issue
      - judge: Says when the money arrives
`
    const { triggers, answers, faults } = readTestsYaml(text)
    expect(faults).toEqual([])
    expect(triggers).toEqual([
      {
        kind: 'fires',
        message: 'Fill in this form',
        isPrompt: false,
        extra: {},
        path: 'evals/tests.yaml',
        line: 3,
      },
      {
        kind: 'fires',
        message: 'Sign: the form',
        isPrompt: false,
        extra: { split: 'train' },
        path: 'evals/tests.yaml',
        line: 4,
      },
      {
        kind: 'silent',
        message: 'Why does my viewer flicker?',
        isPrompt: false,
        extra: {},
        path: 'evals/tests.yaml',
        line: 6,
      },
    ])
    expect(answers).toEqual([
      {
        message: 'Refund order 12',
        path: 'evals/tests.yaml',
        line: 8,
        expect: [
          { kind: 'contains', text: 'refund' },
          { kind: 'matches', text: '\\d+ EUR' },
          { kind: 'json', value: { total: 12 } },
          { kind: 'loads', text: 'refund-desk' },
          { kind: 'calls', text: 'refund.issue' },
          { kind: 'judge', text: 'Says when the money arrives' },
        ],
      },
    ])
  })

  test('reads sections in braces', () => {
    const { triggers, faults } = readTestsYaml('{ fires: [a], silent: [b] }')
    expect([triggers.map(each => each.message), faults]).toEqual([['a', 'b'], []])
    expect(addTest('{ fires: [a] }', { kind: 'fires', message: 'c' })).toMatchObject({ ok: false })
  })

  test('one expectation may be written without a list', () => {
    const { answers } = readTestsYaml('ask:\n  - message: Hi\n    expect:\n      contains: hello\n')
    expect(answers[0]?.expect).toEqual([{ kind: 'contains', text: 'hello' }])
  })

  test.each(['', '# nothing yet\n', 'fires:\nsilent:\n', 'fires: []'])(
    '%j has no tests and no faults',
    text => {
      expect(readTestsYaml(text)).toEqual({ triggers: [], answers: [], faults: [] })
    },
  )

  test.each([
    ['fire:\n  - a b', '1: "fire" is unknown; write "fires"'],
    ['zebra: 1', '1: "zebra" is unknown; use one of "fires", "silent", "ask"'],
    ['- a', '1: the tests have no sections; write "fires:" with a list below it'],
    ['fires: a b', '1: "fires" is "a b", not a list; start each message with "- "'],
    ['fires:\n  - 12', '2: the message is read as 12, not as text; put it in double quotes'],
    [
      'fires:\n  - ok\n  - note: do it',
      '3: the message is read as {"note":"do it"}, not as text; put it in double quotes',
    ],
    ['silent:\n  - ""', '2: the message is empty; write a message, or remove the line'],
    ['silent:\n  -', '2: the message is empty; write a message, or remove the line'],
    ['ask:\n  - a', '2: the test expects nothing; write for example "contains: text" below "expect:"'],
    [
      'ask:\n  - message: a\n    expects: { contains: b }\n    expect: { contains: b }',
      '2: "expects" is unknown; write "expect"',
    ],
    [
      'ask:\n  - message: a',
      '2: the test expects nothing; write for example "contains: text" below "expect:"',
    ],
    [
      'ask:\n  - message: a\n    expect:\n      - contain: b',
      '2: "contain" is no kind of expectation; write "contains"',
    ],
    [
      'ask:\n  - message: a\n    expect:\n      - contains: 12',
      '2: "contains" is 12, not text; put the value of "contains" in double quotes',
    ],
    [
      'ask:\n  - message: a\n    expect:\n      - matches: "(b"',
      '2: "(b" is no regular expression: unterminated group; correct it, or use "contains"',
    ],
  ])('%j is reported with its line', (text, expected) => {
    expect(faultsOf(text)).toEqual([expected])
  })

  test('broken YAML becomes one fault with the line', () => {
    const { faults, triggers } = readTestsYaml('fires:\n  - "a\n')
    expect(triggers).toEqual([])
    expect(faults).toMatchObject([{ code: 'TESTS_INVALID', path: 'evals/tests.yaml' }])
    expect(faults[0]?.line).toBeGreaterThan(0)
  })

  test('a faulty test does not hide the others', () => {
    expect(readTestsYaml('fires:\n  - 1\n  - Fill it\n').triggers.map(each => each.message)).toEqual([
      'Fill it',
    ])
  })

  test('no text of an author throws', () => {
    const piece = fc.constantFrom(
      'fires:',
      'ask:',
      '\n',
      '  - ',
      'message: ',
      'expect:',
      '*a',
      '&a',
      '!x',
      '"',
      '[',
      '}',
      ': ',
      '|',
      '\t',
      '---',
      'é',
      '#',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 25 }), pieces => void readTestsYaml(pieces.join(''))),
      { numRuns: 500 },
    )
  })
})

const kindsOf = (value: unknown, skill = 'pdf'): string[] =>
  readEvalJson(value, skill).map(({ kind, message, isPrompt }) => `${kind}${isPrompt ? '?' : ''} ${message}`)

describe('readEvalJson()', () => {
  test.each<[string, unknown, string[]]>([
    [
      'a list',
      [
        { query: 'a', should_trigger: true },
        { query: 'b', should_trigger: false },
      ],
      ['fires a', 'silent b'],
    ],
    [
      'an object with queries',
      {
        skill: 'pdf',
        queries: [
          { query: 'a', expect: 'trigger' },
          { query: 'b', expect: 'no-trigger' },
        ],
      },
      ['fires a', 'silent b'],
    ],
    [
      'an object for another skill',
      {
        skill: 'ads',
        queries: [
          { query: 'a', expect: 'trigger' },
          { query: 'b', expect: 'no-trigger' },
        ],
      },
      ['silent a'],
    ],
    ['two lists', { should_trigger: ['a'], should_not_trigger: ['b'] }, ['fires a', 'silent b']],
    [
      'a map of skills',
      { pdf: { positive: ['a'], negative: ['b'] }, ads: { positive: ['c'], negative: ['d'] } },
      ['fires a', 'silent b', 'silent c'],
    ],
    [
      'a map below "skills"',
      { skills: { pdf: { should: ['a'], should_not: ['b'] } } },
      ['fires a', 'silent b'],
    ],
    [
      'a routing list',
      [
        { prompt: 'a', expected_skill: 'pdf' },
        { query: 'b', expected_skills: ['ads'] },
        { query: 'c', expect: [] },
        { query: 'd', expected_skill: null },
      ],
      ['fires a', 'silent b', 'silent c', 'silent d'],
    ],
    ['output tests', { skill_name: 'pdf', evals: [{ id: 1, prompt: 'a', assertions: ['b'] }] }, ['fires? a']],
    ['output tests of another skill', { skill_name: 'ads', evals: [{ prompt: 'a' }] }, []],
    ['sentences below "expect"', [{ prompt: 'a', expect: ['Mentions the form'] }], ['fires? a']],
    ['anything else', { version: 1, files: ['a'], nested: { b: [1] } }, []],
    ['a list of other values', [1, null, 'a', { name: 'b' }], []],
  ])('reads %s', (_, value, expected) => {
    expect(kindsOf(value)).toEqual(expected)
  })

  test('keeps unknown fields, and the rate of real runs', () => {
    const results = {
      skill_name: 'pdf',
      results: [{ query: 'a', should_trigger: true, trigger_rate: 0.67, runs: 3, pass: true }],
    }
    expect(readEvalJson(results, 'pdf')).toEqual([
      { kind: 'fires', message: 'a', isPrompt: false, triggerRate: 0.67, extra: { runs: 3, pass: true } },
    ])
  })

  test('no JSON value throws', () => {
    fc.assert(fc.property(fc.jsonValue(), value => void readEvalJson(value, 'pdf')))
  })
})

describe('readSkillTests()', () => {
  test('merges the files, the YAML file first, and counts a message once', () => {
    const tests = readSkillTests('pdf', [
      {
        path: 'evals/results.json',
        text: '[{"query":"a","should_trigger":true,"trigger_rate":0.5},{"query":"b","should_trigger":true}]',
      },
      { path: 'evals/tests.yaml', text: 'fires: [a]' },
    ])
    expect(tests.triggers).toMatchObject([
      { message: 'a', path: 'evals/tests.yaml', line: 1, triggerRate: 0.5 },
      { message: 'b', path: 'evals/results.json' },
    ])
  })

  test('reports broken JSON beside the tests, not among the inputs of tests', () => {
    const files = ['evals/a.json', 'evals/files/a.json'].map(path => ({ path, text: '{' }))
    expect(readSkillTests('pdf', files).faults.map(({ path }) => path)).toEqual(['evals/a.json'])
  })

  test('mayHaveTests() looks at small files below evals/', () => {
    const accepted = [
      'evals/tests.yaml',
      'evals/x/y.json',
      'evals/notes.md',
      'tests.yaml',
      'data/evals/a.json',
    ]
    expect(accepted.filter(path => mayHaveTests({ path, size: 10 }))).toEqual([
      'evals/tests.yaml',
      'evals/x/y.json',
    ])
    expect(mayHaveTests({ path: 'evals/a.json', size: 2_000_000 })).toBe(false)
  })
})

const add = (text: string, test: NewTest): string => {
  const added = addTest(text, test)
  if (!added.ok) throw new Error(added.fault.message)
  return added.text
}

describe('addTest()', () => {
  const fire: NewTest = { kind: 'fires', message: 'Sign: the form' }

  test.each([
    ['', "fires:\n  - 'Sign: the form'\n"],
    [
      '# mine\nfires:\n    - a # first\n\n# misses\nsilent:\n  - b\n',
      "# mine\nfires:\n    - a # first\n    - 'Sign: the form'\n\n# misses\nsilent:\n  - b\n",
    ],
    ['fires:\n- a\n', "fires:\n- a\n- 'Sign: the form'\n"],
    ['silent:\n  - b', "silent:\n  - b\nfires:\n  - 'Sign: the form'\n"],
    ['fires: # later\nsilent:\n', "fires: # later\n  - 'Sign: the form'\nsilent:\n"],
    ['fires: []\n', "fires:\n  - 'Sign: the form'\n"],
    ['fires: [a, b]\n', 'fires: [a, b, "Sign: the form"]\n'],
    ['fires:\r\n  - a\r\n', "fires:\r\n  - a\r\n  - 'Sign: the form'\r\n"],
    ['fires:\n  - |\n    two\n    lines\n', "fires:\n  - |\n    two\n    lines\n  - 'Sign: the form'\n"],
  ])('adds to %j and keeps the rest', (text, expected) => {
    expect(add(text, fire)).toBe(expected)
  })

  test('adds a test of an answer', () => {
    const text = add('fires: [a]\n', { kind: 'ask', message: 'Sign', expect: [{ loads: 'pdf' }] })
    expect(text).toBe('fires: [a]\nask:\n  - message: Sign\n    expect:\n      - loads: pdf\n')
    expect(readTestsYaml(text).answers).toMatchObject([
      { message: 'Sign', expect: [{ kind: 'loads', text: 'pdf' }] },
    ])
  })

  test('a known message is not added again', () => {
    expect(add('fires: ["Sign: the form"]', fire)).toBe('fires: ["Sign: the form"]')
  })

  test('a message is not written into the opposite section, too', () => {
    expect(addTest('silent: ["Sign: the form"]', fire)).toMatchObject({
      ok: false,
      fault: { message: 'the message is already in the section "silent"' },
    })
  })

  test('a text that cannot be changed safely stays, and the fault says why', () => {
    expect(addTest('fires: "a', fire)).toMatchObject({ ok: false, fault: { line: 1 } })
    expect(addTest('fires: a', fire)).toMatchObject({
      ok: false,
      fault: { line: 1, message: expect.stringContaining('"fires"') },
    })
  })

  test('any message is read back as it was written', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), message => {
        fc.pre(message.trim() === message && !/\p{C}/u.test(message))
        const text = add('fires:\n  - a\nsilent: [b]\n', { kind: 'fires', message })
        expect(readTestsYaml(text).triggers.map(each => each.message)).toContain(message)
      }),
    )
  })
})

test('toTriggerEvals() writes the convention, which is read back', () => {
  const tests = readSkillTests('pdf', [
    { path: 'evals/tests.yaml', text: 'fires:\n  - message: a\n    reason: c\nsilent: [b]' },
  ])
  const exported = toTriggerEvals(tests)
  expect(exported).toEqual([
    { query: 'a', should_trigger: true, reason: 'c' },
    { query: 'b', should_trigger: false },
  ])
  expect(kindsOf(exported)).toEqual(['fires a', 'silent b'])
})
