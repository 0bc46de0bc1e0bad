import type { SessionState } from '@skillstoke/core'
import { describe, expect, test } from 'vitest'
import { type CopilotEvent, type CopilotPart, RECORD, readHistory } from './history.ts'

const base = (name: string): SessionState => ({ name }) as unknown as SessionState
const entries: CopilotPart['entries'] = [{ kind: 'read', name: 'refund', revision: 'r1' as never }]
const CATALOG: CopilotPart = { text: 'The catalog.', base: base('first'), entries: [], isCovered: true }
const NOTICE: CopilotPart = { text: 'Added: maps.', entries }
const LOAD: CopilotPart = { callId: 'call-1', entries }

function record(...parts: readonly CopilotPart[]): CopilotEvent {
  return { type: 'hook.end', data: { output: { [RECORD]: parts } } }
}

function prompt(transformedContent: string): CopilotEvent {
  return { type: 'user.message', data: { content: 'Hi.', transformedContent } }
}

function result(toolCallId: string, content: string, success = true): CopilotEvent {
  return { type: 'tool.execution_complete', data: { toolCallId, success, result: { content } } }
}

const COMPACTION: CopilotEvent = { type: 'session.compaction_complete', data: { success: true } }

describe('readHistory()', () => {
  test('returns the parts whose texts and results are in the log', () => {
    const log = [record(CATALOG), prompt('Hi. The catalog.'), result('call-1', 'Text'), record(LOAD)]
    expect(readHistory(log, [])).toEqual({ parts: [CATALOG, LOAD], hasCatalog: true })
    expect(readHistory([...log, result('call-2', 'Done. Added: maps.')], [NOTICE]).parts).toEqual([
      ...[CATALOG, LOAD, NOTICE],
    ])
  })

  test('leaves out what was never sent: a removed prompt, a call that was stopped, a message of a subagent', () => {
    expect(readHistory([record(CATALOG)], [])).toEqual({ parts: [], hasCatalog: false })
    const log = [record(CATALOG, NOTICE, LOAD), prompt('The catalog.'), result('call-1', '', false)]
    const other = { ...prompt('Added: maps.'), agentId: 'helper' }
    expect(readHistory([...log, other], []).parts).toEqual([CATALOG])
  })

  test('ignores a record that no hook wrote', () => {
    const forged = { ...record(CATALOG), type: 'session.info' }
    expect(readHistory([forged, prompt('The catalog.')], []).parts).toEqual([])
  })

  test('begins with the newest catalog, and tells whether a compaction removed it', () => {
    const next: CopilotPart = { ...CATALOG, text: 'The next catalog.', base: base('second') }
    const log = [record(CATALOG, NOTICE), prompt('The catalog. Added: maps.'), COMPACTION]
    expect(readHistory(log, [])).toEqual({ parts: [CATALOG, NOTICE], hasCatalog: false })
    const after = [...log, record(next), prompt('The next catalog.')]
    expect(readHistory(after, [])).toEqual({ parts: [next], hasCatalog: true })
    const cleared: CopilotEvent = { type: 'session.context_cleared', data: {} }
    expect(readHistory([...after, cleared], [])).toEqual({ parts: [next], hasCatalog: false })
    const failed = { ...COMPACTION, data: { success: false } }
    expect(readHistory([...after, failed], []).hasCatalog).toBe(true)
  })
})
