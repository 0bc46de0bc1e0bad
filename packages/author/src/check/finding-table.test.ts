import { expect, test } from 'vitest'
import { toSkill } from '../testing/skill-files.ts'
import { checkSkill } from './check-skill.ts'
import { CHECKS, type CheckCode, type Example } from './finding-table.ts'

const rows = Object.entries(CHECKS) as [CheckCode, (typeof CHECKS)[CheckCode]][]
/** Codes about several skills, or about the world around a skill. They have tests of their own. */
const WITHOUT_EXAMPLE = ['FILE_TEMPORARY', 'DESCRIPTION_SIMILAR', 'CATALOG_TOO_LARGE', 'CLIENT_DATA_OLD']

async function listCodes(code: CheckCode, { files }: Example): Promise<readonly string[]> {
  const { profiles = [] } = CHECKS[code]
  const findings = await checkSkill(toSkill(files, { outside: ['../tools/sum.md'] }), {
    profiles: profiles.includes('codex') ? ['codex'] : profiles.slice(0, 1),
  })
  return findings.map(finding => finding.code)
}

const shown = rows.flatMap(([code, { bad, good }]) => (bad && good ? [{ code, bad, good }] : []))

test('every check has a bad and a good example, or a test of its own', () => {
  const without = rows.map(([code]) => code).filter(code => !shown.some(each => each.code === code))
  expect(without).toEqual(WITHOUT_EXAMPLE)
})

test.each(shown)('$code is found in its bad example', async ({ code, bad }) => {
  expect(await listCodes(code, bad)).toContain(code)
})

test.each(shown)('the good example of $code has no finding', async ({ code, good }) => {
  expect(await listCodes(code, good)).toEqual([])
})
