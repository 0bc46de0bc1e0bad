import { findNearest, isRecord, quote, showValue } from '@skillstoke/core/internal'
import type { Report } from './read-tests-yaml.ts'
import { EXPECTATION_KINDS, type Expectation } from './skill-tests.ts'
import type { YamlPath } from './yaml-lines.ts'

type Kind = Expectation['kind']

/** Reads what an answer must have: one map, or a list of maps. */
export function readExpectations(value: unknown, at: YamlPath, report: Report): readonly Expectation[] {
  const maps: readonly (readonly [unknown, YamlPath])[] = Array.isArray(value)
    ? value.map((each, index) => [each, `${at}/${index}`] as const)
    : [[value, at]]
  const found = maps.flatMap(([map, place]) => readMap(map, place, report))
  return found
}

function readMap(map: unknown, at: YamlPath, report: Report): readonly Expectation[] {
  if (!isRecord(map) || Object.keys(map).length === 0) {
    const fix = `write one of ${EXPECTATION_KINDS.map(kind => quote(`${kind}: ...`)).join(', ')}`
    report(at, map == null ? 'the test expects nothing' : `${showValue(map, 40)} is no expectation`, fix)
    return []
  }
  return Object.entries(map).flatMap(([key, value]) => {
    const place = `${at}/${key}`
    if (isKind(key)) return readOne(key, value, place, report)
    const near = findNearest(key, EXPECTATION_KINDS)
    const known = EXPECTATION_KINDS.map(kind => quote(kind)).join(', ')
    report(
      place,
      `${quote(key)} is no kind of expectation`,
      near === undefined ? `use ${known}` : `write ${quote(near)}`,
    )
    return []
  })
}

function readOne(kind: Kind, value: unknown, at: YamlPath, report: Report): readonly Expectation[] {
  if (kind === 'json') return [{ kind, value }]
  const text = typeof value === 'string' ? value.trim() : ''
  if (text === '') {
    report(
      at,
      `${quote(kind)} is ${showValue(value, 40)}, not text`,
      `write text after ${quote(`${kind}:`)}, in double quotes if needed`,
    )
    return []
  }
  switch (kind) {
    case 'contains':
    case 'judge':
      return [{ kind, text }]
    case 'loads':
      return [{ kind, skill: text }]
    case 'calls':
      return [{ kind, command: text }]
    case 'matches':
      return readPattern(text, at, report)
    default:
      return kind satisfies never
  }
}

function readPattern(text: string, at: YamlPath, report: Report): readonly Expectation[] {
  try {
    return [{ kind: 'matches', pattern: new RegExp(text, 'u') }]
  } catch (thrown) {
    const reason = (thrown as SyntaxError).message.replace(/^.*: /, '').toLowerCase()
    report(
      at,
      `${quote(text)} is no regular expression: ${reason}`,
      'correct the expression, or use "contains"',
    )
    return []
  }
}

function isKind(key: string): key is Kind {
  return (EXPECTATION_KINDS as readonly string[]).includes(key)
}
