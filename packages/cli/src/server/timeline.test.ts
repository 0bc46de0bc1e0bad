import type { Diagnostic } from '@skillstoke/core'
import { expect, test } from 'vitest'
import { toProblem } from './timeline.ts'

test('toProblem() names the most severe diagnostic, wherever it is in the list', () => {
  const diagnosticOf = (severity: Diagnostic['severity']): Diagnostic => ({
    code: 'FIELD_TYPE',
    severity,
    message: `a finding of severity ${severity}`,
  })
  const report = {
    name: 'pdf',
    description: '',
    source: 'skills',
    location: 'pdf',
    status: 'warning',
  } as const
  const messageOf = (...levels: Diagnostic['severity'][]): string =>
    toProblem({ ...report, diagnostics: levels.map(diagnosticOf) }).message
  expect(messageOf('info', 'warning')).toContain('warning')
  expect(messageOf('info', 'warning', 'error')).toContain('error')
  expect(messageOf('info')).toContain('info')
  expect(messageOf()).toBe('warning')
})
