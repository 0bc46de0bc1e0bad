import { existsSync } from 'node:fs'
import { createSkillRuntime, SkillError, type SkillRuntime } from '@skillstoke/core'
import { defined, toMessage } from '@skillstoke/core/internal'
import { directory } from '@skillstoke/core/node'
import type { SkillSource } from '@skillstoke/core/source'
import { FleetStatus, LivePublisher, type PublishOptions, type PublishReport } from '@skillstoke/fleet'
import { readSecretFiles } from '../config/config.ts'
import { createRemote, parseSourceFlag } from '../config/remote-config.ts'
import { findStateDirectory } from '../config/state-place.ts'
import { printAnswer } from '../terminal/answer.ts'
import { EXIT_INTERRUPTED, UsageError } from '../terminal/exit-code.ts'
import { printJsonLine, printLine, toTerminalLine } from '../terminal/output.ts'
import { abortOnSignal } from '../terminal/signals.ts'
import { type ChangeFlags, toChannelOptions } from './change-channel.ts'
import { describeReport, describeUnfilled, toAnswer } from './print-report.ts'
import { ProgressLine } from './progress-line.ts'
import { type OpenFleet, withPublisher } from './with-fleet.ts'

/** Shorter than the time after which the report of a stopped agent expires, so that such an agent counts as late. */
const PREFETCH_MS = 30_000

export interface PublishFlags extends ChangeFlags {
  readonly source?: string
  readonly name?: readonly string[]
  readonly watch?: boolean
  readonly mirror?: boolean
  readonly prefetch?: boolean
  readonly force?: boolean
}

/** Implements `stoke fleet publish`: publishes the skills of a folder or of another source, once or until Ctrl-C. */
export async function publish(flags: PublishFlags, folder?: string): Promise<number> {
  const {
    watch = false,
    mirror = false,
    prefetch = false,
    force = false,
    source,
    name,
    dryRun = false,
  } = flags
  if (folder !== undefined && source !== undefined)
    throw new UsageError('name a folder or --source, not both')
  if (watch && (dryRun || prefetch || force || name !== undefined || flags.expect !== undefined))
    throw new UsageError(
      '--watch does not go together with --dry-run, --prefetch, --force, --name or --expect',
    )
  if (mirror && (name !== undefined || flags.expect !== undefined))
    throw new UsageError('--mirror does not go together with --name or --expect')
  return await withPublisher(flags, async open => {
    await using runtime = await createSkillRuntime({ sources: [await openSource(folder, source)] })
    if (watch) return await follow(runtime, open, flags)
    using line = new ProgressLine()
    const options: PublishOptions = {
      ...toChannelOptions(flags),
      ...open.inChannel,
      isMirror: mirror,
      isForced: force,
      ...defined({ names: name, prefetchMs: prefetch ? PREFETCH_MS : undefined }),
      onProgress: ({ step, done, total }) => line.show(step, done, total),
    }
    const report = await open.publisher.publish(runtime, options)
    line.end()
    if (report.skills.length === 0 && report.refused.length === 0)
      throw new UsageError(
        `${JSON.stringify(source ?? folder ?? './skills')} has no skill; name a folder with a SKILL.md, or a folder that contains such folders`,
      )
    const exit = await printAnswer(toAnswer(report, dryRun), flags.json === true)
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
  using end = abortOnSignal()
  end.signal.addEventListener('abort', () => ended.resolve())
  const say = (line: string): void => {
    if (flags.json !== true) printLine(`${clock()}  ${line}`)
  }
  const onReport = (report: PublishReport): void => {
    if (flags.json === true) printJsonLine(report)
    else for (const line of describeReport(report)) say(line)
    if (!report.isFilled && flags.mirror === true) say(describeUnfilled(report))
  }
  const live = new LivePublisher(open.publisher, runtime, {
    ...open.inChannel,
    isMirror: flags.mirror === true,
    ...defined({ note: flags.note }),
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
  }
}

function clock(): string {
  return new Date().toTimeString().slice(0, 8)
}
