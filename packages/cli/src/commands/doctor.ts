import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { countSkills, listSkills } from '@skillstoke/core/internal'
import { type Config, pathsOf } from '../config/config.ts'
import { realPath } from '../config/real-path.ts'
import { readVersion } from '../config/version.ts'
import {
  judgeClient,
  judgeCopies,
  judgeMachine,
  judgeSkills,
  judgeSource,
  type SetupFinding,
} from '../doctor/examine-setup.ts'
import { listCopies } from '../doctor/list-copies.ts'
import { findRunningDevs } from '../server/run-file.ts'
import { toAnswering } from '../skills/answering.ts'
import { isFrozen, openSkills } from '../skills/open-skills.ts'
import type { Answer } from '../terminal/answer.ts'
import { EXIT_FINDINGS, EXIT_OK } from '../terminal/exit-code.ts'
import { formatTable, nearPath, paint, toAdvice, toTerminalLine } from '../terminal/output.ts'
import { listClients } from './mcp-clients.ts'
import { findContainment } from './status.ts'

const STYLES = { error: 'red', warning: 'yellow', info: 'dim' } as const

/** Implements `stoke doctor`: shows what was found where, judges it, and names a fix for each finding. */
export async function doctor(config: Config): Promise<Answer> {
  const facts: Fact[] = []
  const findings: SetupFinding[] = []
  for (const part of [examineMachine(config), examineSkills(config), examineClients()])
    for await (const each of part)
      if (each.length === 2) facts.push(each)
      else findings.push(each)
  const isFine = findings.every(([severity]) => severity === 'info')
  const sorted = Object.keys(STYLES).flatMap(each => findings.filter(([severity]) => severity === each))
  return {
    json: {
      facts: facts.map(([about, text]) => ({ about, text })),
      findings: sorted.map(([severity, message, fix]) => ({ severity, message, fix })),
    },
    text: function* () {
      yield formatTable(facts.map(row => row.map(toTerminalLine)))
      for (const [severity, message, fix] of sorted)
        yield `${paint(STYLES[severity], severity)} ${toTerminalLine(message)}\n    fix: ${toAdvice(toTerminalLine(fix), config.options)}`
      if (isFine)
        yield toAdvice('nothing is wrong with this setup; "stoke check" reads the skills', config.options)
    },
    exit: isFine ? EXIT_OK : EXIT_FINDINGS,
  }
}

type Fact = readonly [about: string, text: string]
/** What a part of a setup consists of, and what is wrong with it. */
type Examined = AsyncGenerator<Fact | SetupFinding>

async function* examineMachine(config: Config): Examined {
  const { stateDirectory, remotes } = config
  yield [
    'skillstoke',
    `${readVersion()} on Node ${process.versions.node}, state in ${nearPath(stateDirectory)}`,
  ]
  const containment = await findContainment(config)
  yield ['scripts', `${containment.kind}: ${containment.detail}`]
  const git = findGit()
  yield ['git', git ?? 'missing']
  yield ['inotify', readLimits()]
  for (const { file } of await findRunningDevs(config)) {
    const roots = file.roots.map(({ path }) => nearPath(path)).join(', ')
    yield ['dev', `${file.url}, process ${file.pid}: ${roots}`]
  }
  yield* judgeMachine({ containment, git, needsGit: remotes.length > 0 })
}

async function* examineSkills(config: Config): Examined {
  const options = { watching: 'auto', polling: 'manual', reportsUnreadable: true } as const
  await using skills = await openSkills(config, { ...options, acceptsMissing: true })
  for (const [index, source] of countSkills(skills, pathsOf(config)).sources.entries()) {
    const { path, isMissing, skills: count, mode } = source
    yield ['source', isMissing ? `${path}: missing` : `${path}: ${count} found, watched by ${mode}`]
    yield* judgeSource(source, config.roots[index]?.isNamed ?? true)
  }
  const copies = await listCopies(config.roots.map(({ path }) => path))
  const own = new Set(config.roots.map(({ path }) => realPath(path)))
  for (const [root, found] of Map.groupBy(copies, each => each.root))
    if (!own.has(root)) yield ['other', `${nearPath(root)}: ${found.length} found`]
  const { skills: rows } = await listSkills(toAnswering(skills, config))
  const served = rows.filter(({ serving }) => serving !== null).length
  yield ['skills', `${rows.length} found, ${served} served${isFrozen(skills) ? ', frozen' : ''}`]
  yield* judgeSkills(rows, isFrozen(skills))
  yield* judgeCopies(copies)
}

async function* examineClients(): Examined {
  for (const client of listClients()) {
    yield ['client', `${client.title}: ${client.state}`]
    yield* judgeClient(client)
  }
}

function findGit(): string | undefined {
  const { stdout, status } = spawnSync('git', ['--version'], { encoding: 'utf8', timeout: 5_000 })
  return status === 0 ? stdout.trim().replace(/^git version /, '') : undefined
}

/** Describes the limits of Linux for watched folders. */
function readLimits(): string {
  const read = (name: string): string => readFileSync(`/proc/sys/fs/inotify/${name}`, 'utf8').trim()
  try {
    return `${read('max_user_watches')} watches, ${read('max_user_instances')} instances`
  } catch {
    return 'no limits'
  }
}
