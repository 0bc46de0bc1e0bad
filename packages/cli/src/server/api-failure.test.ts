import { SkillError, type SkillErrorCode } from '@skillstoke/core'
import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { onApiError } from './api-failure.ts'

test.each([
  ['SKILL_NOT_FOUND', 404, 'NOT_FOUND'],
  ['CHANGED_SINCE_READ', 409, 'CONFLICT'],
  ['HIDDEN_TEXT', 409, 'HIDDEN_TEXT'],
  ['READ_ONLY', 409, 'READ_ONLY'],
  ['INVALID_OPTION', 400, 'INVALID_REQUEST'],
  ['IO_FAILED', 500, 'IO_FAILED'],
  ['CLOSED', 503, 'FAILED'],
] as const)(
  'onApiError() maps %s to status %d with the code %s',
  async (thrown: SkillErrorCode, status, code) => {
    const app = new Hono().onError(onApiError)
    app.post('/', () => Promise.reject(new SkillError(thrown, 'why')))
    const response = await app.request('/', { method: 'POST' })
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ error: { code } })
  },
)
