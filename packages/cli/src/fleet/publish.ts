import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSkillRuntime, SkillError, type SkillRuntime } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import { directory } from '@skillstoke/core/node'
import type { SkillSource } from '@skillstoke/core/source'
import {
  FleetStatus,
  LivePublisher,
  type PublishOptions,
  type PublishReport,
  type StagedSkill,
} from '@skillstoke/fleet'
import { readSecretFiles } from '../config/config.ts'
import { createRemote, parseSourceFlag } from '../config/remote-config.ts'
import { findStateDirectory } from '../config/state-place.ts'
import { EXIT_FINDINGS, EXIT_INTERRUPTED, UsageError } from '../exit-code.ts'
import { printJsonLine, printLine, toTerminalLine } from '../output.ts'
import { listenForSignals } from '../signals.ts'
import type { ChangeFlags } from './change-channel.ts'
import { describeReport, describeUnfilled, printReport } from './print-report.ts'
import { ProgressLine } from './progress-line.ts'
import { type OpenFleet, withPublisher } from './with-fleet.ts'

/** Shorter than the time after which the report of a stopped agent expires, so that such an agent counts as late. */
const PREFETCH_MS = 30_000
const ASK_MS = 500

export interface PublishFlags extends ChangeFlags {
  readonly source?: string
  readonly name?: readonly string[]
  readonly watch?: boolean
  readonly mirror?: boolean
  readonly stage?: boolean
  readonly prefetch?: boolean
  readonly repair?: boolean
  readonly force?: boolean
}

/** Implements `stoke fleet publish`: publishes the skills of a folder or of another source, once or until Ctrl-C. */
export async function publish(folder: string | undefined, flags: PublishFlags): Promise<number> {
  const {
    watch = false,
    mirror = false,
    stage = false,
    prefetch = false,
    repair = false,
    force = false,
    source,
    name,
    dryRun = false,
  } = flags
  if (folder !== undefined && source !== undefined)
    throw new UsageError('name a folder or --source, not both')
  if (watch && (dryRun || prefetch || repair || name !== undefined || flags.expect !== undefined))
    throw new UsageError(
      '--watch does not go together with --dry-run, --prefetch, --repair, --name or --expect',
    )
  if (prefetch && (dryRun || stage))
    throw new UsageError(`--prefetch does not go together with ${dryRun ? '--dry-run' : '--stage'}`)
  if (mirror && (stage || prefetch || name !== undefined || flags.expect !== undefined))
    throw new UsageError('--mirror does not go together with --stage, --prefetch, --name or --expect')
  return await withPublisher(flags, async open => {
    await using runtime = await createSkillRuntime({ sources: [await openSource(folder, source)] })
    if (watch) return await follow(runtime, open, flags)
    using line = new ProgressLine()
    const options: PublishOptions = {
      ...open.inChannel,
      isDryRun: dryRun,
      isMirror: mirror,
      isStaged: stage || prefetch,
      isRepair: repair,
      keepsRollbacks: !force,
      ...(name === undefined ? {} : { names: name }),
      ...(flags.expect === undefined ? {} : { expect: flags.expect }),
      ...(flags.note === undefined ? {} : { note: flags.note }),
      onProgress: ({ step, done, total }) => line.show(step, done, total),
    }
    const report = await open.publisher.publish(runtime, options)
    line.end()
    if (report.skills.length === 0 && report.refused.length === 0)
      throw new UsageError(
        `${JSON.stringify(source ?? folder ?? './skills')} has no skill; name a folder with a SKILL.md, or a folder that contains such folders`,
      )
    if (prefetch) return await activateWhenReady(report, open, flags, line)
    const exit = printReport(report, { ...flags, isStaged: stage })
    if (!report.isFilled && flags.json !== true && (await hasAwaiting(open)))
      printLine(describeUnfilled(report))
    return exit
  })
}

/** Whether an agent of the channel keeps the skills of an earlier epoch. */
async function hasAwaiting({ fleet, inChannel }: OpenFleet): Promise<boolean> {
  const { agents } = await new FleetStatus(fleet, inChannel).read()
  return agents.some(({ isAwaiting }) => isAwaiting)
}

/** Opens what is to be published. The person who publishes it approves it, so it needs no other approval. */
async function openSource(folder: string = './skills', place: string | undefined): Promise<SkillSource> {
  if (place === undefined) {
    if (!existsSync(folder))
      throw new UsageError(`there is no folder ${JSON.stringify(folder)}; name the folder with the skills`)
    return directory(folder, { trust: 'auto', reading: readSecretFiles({}) })
  }
  const named = { source: parseSourceFlag(place), isNamed: true, label: 'published' }
  const privateHosts = process.env['SKILLSTOKE_PRIVATE_HOSTS']?.split(',') ?? []
  const setup = {
    access: { privateHosts },
    stateDirectory: findStateDirectory({}),
    reading: readSecretFiles({}),
  }
  return await createRemote(
    { ...named, source: { ...named.source, pollSeconds: 10 } },
    { ...setup, trust: 'auto', polling: 'auto' },
  )
}

/** Publishes every change until the first signal. */
async function follow(runtime: SkillRuntime, open: OpenFleet, flags: PublishFlags): Promise<number> {
  const ended = Promise.withResolvers<void>()
  const stopListening = listenForSignals(() => ended.resolve())
  const say = (line: string): void => {
    if (flags.json !== true) printLine(`${clock()}  ${line}`)
  }
  const onReport = (report: PublishReport): void => {
    if (flags.json === true) printJsonLine(report)
    else for (const line of describeReport(report, { isStaged: flags.stage === true })) say(line)
    if (!report.isFilled && flags.mirror === true) say(describeUnfilled(report))
  }
  const live = new LivePublisher(open.publisher, runtime, {
    ...open.inChannel,
    isMirror: flags.mirror === true,
    isStaged: flags.stage === true,
    ...(flags.note === undefined ? {} : { note: flags.note }),
    onReport,
    onError: (thrown, retryMs) => {
      if (SkillError.isInstance(thrown, 'INVALID_OPTION')) ended.reject(thrown)
      else
        process.stderr.write(
          `${clock()}  not published yet: ${toTerminalLine(toMessage(thrown))}; next attempt in ${retryMs} ms\n`,
        )
    },
  })
  try {
    say('publishing each change; Ctrl-C ends this')
    await ended.promise
    return EXIT_INTERRUPTED
  } finally {
    await live.close()
    stopListening()
  }
}

function clock(): string {
  return new Date().toTimeString().slice(0, 8)
}

/** Waits until every agent has the files of the staged skills, then makes them live. */
async function activateWhenReady(
  report: PublishReport,
  { fleet, publisher, inChannel }: OpenFleet,
  flags: PublishFlags,
  line: ProgressLine,
): Promise<number> {
  const status = new FleetStatus(fleet, inChannel)
  const wanted = new Set(report.skills.map(({ name }) => name))
  const staged = (await status.read()).staged.filter(({ name }) => wanted.has(name))
  if (staged.length === 0) return printReport(report, flags)
  const names = staged.map(({ name }) => name)
  const interrupt = new AbortController()
  const stopListening = listenForSignals(() => interrupt.abort())
  try {
    const late = await waitForAgents(status, staged, interrupt.signal, line)
    if (interrupt.signal.aborted || late.length > 0) {
      // What somebody else has staged stays.
      const own = report.skills.filter(({ outcome }) => outcome === 'published').map(({ name }) => name)
      await publisher.unstage({ ...inChannel, names: own })
      const reason = interrupt.signal.aborted
        ? 'interrupted'
        : `after ${PREFETCH_MS / 1_000} s, these agents have not all files: ${toTerminalLine(late.join(', '))}`
      process.stderr.write(`error: ${reason}; nothing was activated\n`)
      return interrupt.signal.aborted ? EXIT_INTERRUPTED : EXIT_FINDINGS
    }
  } finally {
    stopListening()
    line.end()
  }
  const note = flags.note === undefined ? {} : { note: flags.note }
  const activated = await publisher.activate({ ...inChannel, names, ...note })
  const others = report.skills.filter(({ name }) => !names.includes(name))
  return printReport({ ...report, skills: [...activated.skills, ...others] }, flags)
}

/** Returns the names of the agents that do not have all files of the staged skills when the time is over. */
async function waitForAgents(
  status: FleetStatus,
  wanted: readonly StagedSkill[],
  interrupt: AbortSignal,
  line: ProgressLine,
): Promise<readonly string[]> {
  const newest = Math.max(...wanted.map(({ seq }) => seq))
  const end = performance.now() + PREFETCH_MS
  let late: readonly string[] = ['(no answer)']
  for (let isFirst = true; ; isFirst = false) {
    try {
      const { agents, staged, epoch } = await status.read()
      late = agents
        .filter(agent => agent.epoch !== epoch || agent.seq < newest || agent.staged < staged.length)
        .map(({ host, agent }) => `${host}/${agent}`)
      if (isFirst)
        process.stderr.write(`staged; waiting until the agents have the files (${agents.length})\n`)
      line.show('agents with the files', agents.length - late.length, agents.length)
      if (late.length === 0) return late
    } catch (thrown) {
      // The servers may be back in a moment.
      if (!SkillError.isInstance(thrown, 'IO_FAILED')) throw thrown
    }
    if (interrupt.aborted || performance.now() > end) return late
    await sleep(ASK_MS, undefined, { signal: interrupt }).catch(() => undefined)
  }
}
