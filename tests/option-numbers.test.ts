import { SkillAgent } from '@skillstoke/agent'
import { GitHubPollingWatcher, LocalFileWatcher, SkillToolset } from '@skillstoke/compat'
import { createSkillRuntime, type SkillRuntime } from '@skillstoke/core'
import { collectGarbage, openDecisions, openRevisionLog, openWriteLock } from '@skillstoke/core/node'
import {
  adaptFileSystem,
  FileSource,
  MemoryFileSystem,
  MemoryRevisionLog,
  MemorySkillStore,
} from '@skillstoke/core/source'
import { SkillMcp } from '@skillstoke/mcp'
import { mcpServer } from '@skillstoke/mcp/source'
import { archive, createGuardedFetch, git, wellKnown } from '@skillstoke/sources'
import { ApiClient } from 'skillstoke/client'
import { describe, expect, test } from 'vitest'

/** Passes one number to the option under test. */
type Call = (value: number, skills: SkillRuntime) => unknown

const simple = { list: async () => [], stat: async () => undefined, read: async () => undefined } as never
const place = { fileSystem: new MemoryFileSystem(), root: '/skills', label: 'skills' }
const agent = { addTool: () => undefined, removeTool: () => undefined }
const client = new ApiClient({ url: 'http://127.0.0.1:9' })
const REPOSITORY = 'https://github.com/acme/skills'

/** Options that accept `Infinity`, which means "no limit" or "never". */
const UNLIMITED: Readonly<Record<string, Call>> = {
  maxWaitMs: (maxWaitMs, skills) => skills.fresh({ maxWaitMs }),
  'preScan.timeoutMs': async timeoutMs => {
    await using runtime = await createSkillRuntime({
      sources: [],
      preScan: { hook: ({ signal }) => signal.throwIfAborted(), timeoutMs, onError: 'throw' },
    })
    await runtime.reload()
  },
  'timeoutMs of bind()': (timeoutMs, skills) => skills.bind(agent, { timeoutMs }),
  'timeoutMs of adaptFileSystem()': timeoutMs => adaptFileSystem(simple, { timeoutMs }),
  'graceMs of MemorySkillStore': graceMs => new MemorySkillStore({ graceMs }),
  preScanTimeoutMs: preScanTimeoutMs => new SkillToolset('skills', { preScanTimeoutMs }),
  sessionIdleMs: async (sessionIdleMs, skills) => await new SkillMcp(skills, { sessionIdleMs }).close(),
  'maxTokens of rebase()': async (maxTokens, skills) => {
    using session = skills.session({ id: `s-${maxTokens}` })
    await session.rebase({ maxTokens })
  },
  'limit of search()': (limit, skills) => skills.search('x', { limit }),
  'maxBytes of createGuardedFetch()': maxBytes => createGuardedFetch({ privateHosts: [], maxBytes }),
  'maxBytes of git()': maxBytes => git('acme/skills', { maxBytes }),
  'maxBytes of wellKnown()': maxBytes => wellKnown('https://example.com', { maxBytes }),
  'maxBytes of archive()': maxBytes => archive('x.zip', { maxBytes }),
  'limits.maxFiles': maxFiles => new FileSource({ ...place, limits: { maxFiles } }),
  'archiveLimits.maxEntries': maxEntries => archive('x.zip', { archiveLimits: { maxEntries } }),
  'maxBytes of mcpServer()': maxBytes => mcpServer('https://example.com/mcp', { maxBytes }),
}

/** Options that require a finite number. */
const FINITE: Readonly<Record<string, Call>> = {
  pageSize: (pageSize, skills) => new SkillMcp(skills, { pageSize }),
  notificationIntervalMs: (notificationIntervalMs, skills) =>
    new SkillMcp(skills, { notificationIntervalMs }),
  maxSessions: (maxSessions, skills) => new SkillMcp(skills, { maxSessions }),
  maxRequestBytes: (maxRequestBytes, skills) => new SkillMcp(skills, { maxRequestBytes }),
  pollMs: pollMs => openDecisions('', { pollMs }),
  'maxRecords of MemoryRevisionLog': maxRecords => new MemoryRevisionLog({ maxRecords }),
  'maxRecords of openRevisionLog()': maxRecords => openRevisionLog('', { maxRecords }),
  keepRevisions: keepRevisions => collectGarbage('nowhere', { keepRevisions }),
  debounceMs: debounceMs => new LocalFileWatcher('skills', { debounceMs }),
  pollIntervalMs: pollIntervalMs => new GitHubPollingWatcher(REPOSITORY, { pollIntervalMs }),
  'timeoutMs of GitHubPollingWatcher': timeoutMs => new GitHubPollingWatcher(REPOSITORY, { timeoutMs }),
  maxSteps: (maxSteps, skills) => new SkillAgent({ skills, model: 'none', maxSteps }),
  maxRetries: (maxRetries, skills) => new SkillAgent({ skills, model: 'none', maxRetries }),
  'timeoutMs of ApiClient': timeoutMs => new ApiClient({ timeoutMs }),
  'timeoutMs of ApiClient.reload()': timeoutMs => client.reload({ timeoutMs }),
}

/**
 * Options of functions that cannot run in this test. For these options, the test checks only that wrong numbers are
 * refused.
 */
const OPENED: Readonly<Record<string, Call>> = {
  'timeoutMs of openWriteLock()': timeoutMs => openWriteLock('', { timeoutMs }),
  'graceMs of collectGarbage()': graceMs => collectGarbage('nowhere', { graceMs }),
}

async function run(call: Call, value: number): Promise<void> {
  await using skills = await createSkillRuntime({ sources: [] })
  const made = await call(value, skills)
  if (made instanceof SkillMcp) await made.close()
}

describe.each(Object.entries({ ...UNLIMITED, ...FINITE, ...OPENED }))('%s', (label, call) => {
  const name = label.split(' ')[0]

  test.each([NaN, -1])('is refused as %s', async value => {
    await expect(run(call, value)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(new RegExp(`^${name} is ${value}; use a (whole )?number from [01] `)),
    })
  })
})

test.each(Object.entries(FINITE))('%s is refused as Infinity', async (label, call) => {
  await expect(run(call, Infinity)).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringContaining(`${label.split(' ')[0]} is Infinity`),
  })
})

test.each(Object.entries(UNLIMITED))('%s is accepted as Infinity', async (_, call) => {
  await expect(run(call, Infinity)).resolves.toBeUndefined()
})

test.each(['pageSize', 'maxSessions', 'maxRequestBytes'] as const)(
  'the option %s of SkillMcp must be a whole number of at least 1',
  async name => {
    await using skills = await createSkillRuntime({ sources: [] })
    for (const value of [0, 1.5])
      expect(() => new SkillMcp(skills, { [name]: value })).toThrow(
        `${name} is ${value}; use a whole number from 1 on`,
      )
  },
)
