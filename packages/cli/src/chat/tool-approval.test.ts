import { expect, test } from 'vitest'
import { parseApproval } from './tool-approval.ts'

const declined = (reason = 'The user declined the call.'): object => ({ approved: false, reason })

test.each([
  ['y', { approved: true }],
  [' YES ', { approved: true }],
  ['n', declined()],
  ['no', declined()],
  ['n, use the other order', declined('use the other order')],
  ['no: too expensive ', declined('too expensive')],
  ['', undefined],
  ['yesterday', undefined],
  ['nothing', undefined],
  ['y but slowly', undefined],
])('parseApproval(%j)', (line, answer) => {
  expect(parseApproval(line)).toEqual(answer)
})
