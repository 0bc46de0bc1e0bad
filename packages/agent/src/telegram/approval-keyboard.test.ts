import { describe, expect, test } from 'vitest'
import {
  type ApprovalCall,
  keyOfCall,
  readDecisions,
  readPress,
  renderKeyboard,
  renderQuestion,
} from './approval-keyboard.ts'

const call = (id: string, input: unknown = { id }): ApprovalCall => ({
  ...{ kind: 'approval', approvalId: `approval-${id}`, callId: 'call-1', name: 'pay_back', input },
})
const ONE = call('1')
const TWO = call('2')

describe('renderKeyboard()', () => {
  test('shows the decisions, and readDecisions() reads them back', () => {
    const decisions = new Map([[keyOfCall(TWO), false]])
    const keyboard = renderKeyboard([ONE, TWO], decisions)
    expect(keyboard.inline_keyboard.map(row => row.map(({ text }) => text))).toEqual([
      ['Approve 1', 'Decline 1'],
      ['Declined 2'],
    ])
    expect(readDecisions(keyboard)).toEqual(decisions)
  })

  test('tells calls with equal ids apart, and stays within the limit of Telegram', () => {
    const data = renderKeyboard([ONE, TWO, call('x'.repeat(500))], new Map())
      .inline_keyboard.flat()
      .map(({ callback_data: each }) => each)
    expect(new Set(data).size).toBe(6)
    expect(data.filter(each => each.length > 64)).toEqual([])
  })

  test('numbers the buttons only if there are several calls', () => {
    expect(renderKeyboard([ONE], new Map()).inline_keyboard[0]?.map(({ text }) => text)).toEqual([
      'Approve',
      'Decline',
    ])
  })
})

test('readPress() ignores the data of other keyboards', () => {
  expect(readPress(`stoke:${keyOfCall(ONE)}:approve`)).toEqual({ call: keyOfCall(ONE), action: 'approve' })
  for (const data of ['', 'menu:1', `stoke:${keyOfCall(ONE)}:delete`, 'stoke:x:approve'])
    expect(readPress(data)).toBeUndefined()
})

describe('renderQuestion()', () => {
  test('shows the name and the input of each call', () => {
    expect(renderQuestion([ONE])).toBe('May I make this call?\n\npay_back\n```json\n{\n  "id": "1"\n}\n```')
    expect(renderQuestion([ONE, TWO])).toContain('2. pay_back\n```json\n{\n  "id": "2"\n}\n```')
  })

  test('shows invisible characters, and says how much is left out', () => {
    expect(renderQuestion([call('a\u202eb')])).toContain('a<U+202E>b')
    const shown = renderQuestion([call('x'.repeat(4_000))])
    expect(shown).toMatch(/\n```\n\(1014 more characters are not shown\.\)$/)
  })
})
