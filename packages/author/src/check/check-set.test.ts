import { createSkillRuntime, MemorySource } from '@skillstoke/core'
import { expect, test } from 'vitest'
import { checkSet } from './check-set.ts'

async function check(
  skills: readonly (readonly [name: string, description: string, body: string])[],
  budget?: number,
): Promise<readonly string[]> {
  const source = new MemorySource(
    { label: 'mine' },
    skills.map(([name, description, body]) => ({ name, description, body })),
  )
  await using runtime = await createSkillRuntime({ sources: [source] })
  const found = checkSet(runtime.current.list(), budget === undefined ? {} : { budget })
  return found.map(
    ({ code, severity, path, message }) =>
      `${severity} ${code} ${path ?? '-'} ${/of "(\w+)"/.exec(message)?.[1] ?? ''}`,
  )
}

const VAT = 'Creates VAT reports from a folder of invoices. Use when a quarter ends.'

test('checkSet() reports two descriptions that are nearly one text, and equal instructions', async () => {
  const tone = ['tone', 'Makes an answer kind and short. Use before a letter is sent.', 'Be kind.'] as const
  expect(
    await check([['tax', VAT, 'Add up.'], ['vat', VAT.replace('folder', 'set'), 'Sum up.'], tone]),
  ).toEqual(['warning DESCRIPTION_SIMILAR vat/SKILL.md tax'])
  expect(
    await check([
      ['tax', VAT, 'Add up.'],
      ['letter', 'Writes letters to offices when asked for.', 'Add up.'],
      tone,
    ]),
  ).toEqual(['warning DESCRIPTION_SIMILAR tax/SKILL.md letter'])
  expect(await check([['tax', VAT, 'Add up.'], tone])).toEqual([])
})

test('checkSet() reports a catalog over the budget', async () => {
  expect(await check([['tax', VAT, 'Add up.']], 10)).toEqual(['warning CATALOG_TOO_LARGE - '])
  expect(await check([['tax', VAT, 'Add up.']], 100)).toEqual([])
})
