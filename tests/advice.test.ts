import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** What a person grants, releases or reveals by following an advice. */
const WIDENS =
  /\b(?:approve|enable|unpin|grant|thaw|allow|accept|trust|link root|--confirm-hidden|disable-model-invocation|take it out|move (?:it|the skill) out)\b/i
/** The beginning of an advice, or a condition in it, that makes a person look or decide first. */
const ASKS = /^(?:review|read|check|keep)\b|\bonly if\b|\bto keep it so\b/i

interface Advice {
  readonly place: string
  readonly text: string
}

/** Returns the texts of all fixes in the sources, as they are written. */
function listFixes(): readonly Advice[] {
  return readdirSync('packages').flatMap(name =>
    readdirSync(`packages/${name}/src`, { recursive: true, encoding: 'utf8' })
      .filter(path => path.endsWith('.ts') && !/\.(?:test|test-d|d)\.ts$/.test(path))
      .flatMap(path => {
        const place = `packages/${name}/src/${path}`
        const code = readFileSync(place, 'utf8')
        const found = code.matchAll(
          /\bfix(?::|\s=)\s*(?:[\w.]+ \? )?(['"`])((?:(?!\1).)+)\1(?:\s*:\s*(['"`])((?:(?!\3).)+)\3)?/g,
        )
        return Array.from(found).flatMap(([, , first = '', , second]) =>
          [first, second].flatMap(text => (text === undefined ? [] : { place, text })),
        )
      }),
  )
}

test('T62: a fix that grants, releases or reveals something asks for a review or a decision first', () => {
  const fixes = listFixes()
  expect(fixes.length).toBeGreaterThan(40)
  expect(fixes.filter(({ text }) => WIDENS.test(text) && !ASKS.test(text))).toEqual([])
})

test('T62: so does every fix in docs/diagnostics.md', () => {
  const rows = readFileSync('docs/diagnostics.md', 'utf8').matchAll(/^\| `([A-Z_]+)` \|.*\| ([^|]+) \|$/gm)
  const fixes = Array.from(rows, ([, place = '', text = '']) => ({ place, text }))
  expect(fixes.length).toBeGreaterThan(50)
  expect(fixes.filter(({ text }) => WIDENS.test(text) && !ASKS.test(text))).toEqual([])
})
