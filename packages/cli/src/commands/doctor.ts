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
import { listCopies, type SkillCopy } from '../doctor/list-copies.ts'
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
  const parts = [await examineMachine(config), await examineSkills(config), examineClients()]
  const facts = parts.flatMap(part => part.facts)
  const findings = parts.flatMap(part => part.findings)
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
        yield `${paint(STYLES[severity], severity)} ${toTerminalLine(message)}\n    fix: ${toAdvice(fix, config.options)}`
      if (isFine)
        yield toAdvice('nothing is wrong with this setup; "stoke check" reads the skills', config.options)
    },
    exit: isFine ? EXIT_OK : EXIT_FINDINGS,
  }
}

type Fact = readonly [about: string, text: string]

/** One part of a setup: what it consists of, and what is wrong with it. */
interface Examined {
  readonly facts: readonly Fact[]
  readonly findings: readonly SetupFinding[]
}

async function examineSkills(config: Config): Promise<Examined> {
  const options = { watching: 'auto', polling: 'manual', reportsUnreadable: true } as const
  await using skills = await openSkills(config, { ...options, acceptsMissing: true })
  const { sources } = countSkills(skills, pathsOf(config))
  const { skills: rows } = await listSkills(toAnswering(skills, config))
  const copies = await listCopies(config.roots.map(({ path }) => path))
  const served = rows.filter(({ serving }) => serving !== null).length
  return {
    facts: [
      ...sources.map(({ path, isMissing, skills: count, mode }): Fact => {
        return ['source', isMissing ? `${path}: missing` : `${path}: ${count} found, watched by ${mode}`]
      }),
      ...countOthers(copies, config),
      ['skills', `${rows.length} found, ${served} served${isFrozen(skills) ? ', frozen' : ''}`],
    ],
    findings: [
      ...sources.flatMap((source, index) => [...judgeSource(source, config.roots[index]?.isNamed ?? true)]),
      ...judgeSkills(rows, isFrozen(skills)),
      ...judgeCopies(copies),
    ],
  }
}

async function examineMachine(config: Config): Promise<Examined> {
  const containment = await findContainment(config)
  const git = findGit()
  const devs = await findRunningDevs(config)
  return {
    facts: [
      [
        'skillstoke',
        `${readVersion()} on Node ${process.versions.node}, state in ${nearPath(config.stateDirectory)}`,
      ],
      ['scripts', `${containment.kind}: ${containment.detail}`],
      ['git', git ?? 'missing'],
      ['inotify', readLimits()],
      ...devs.map(({ file: { url, pid, roots } }): Fact => {
        return ['dev', `${url}, process ${pid}: ${roots.map(({ path }) => nearPath(path)).join(', ')}`]
      }),
    ],
    findings: [...judgeMachine({ containment, git, needsGit: config.remotes.length > 0 })],
  }
}

function examineClients(): Examined {
  const clients = listClients()
  return {
    facts: clients.map(({ title, state }) => ['client', `${title}: ${state}`]),
    findings: clients.flatMap(client => [...judgeClient(client)]),
  }
}

/** Counts the skills in the folders of clients that are no roots. */
function countOthers(copies: readonly SkillCopy[], { roots }: Config): readonly Fact[] {
  const own = new Set(roots.map(({ path }) => realPath(path)))
  const others = Object.groupBy(
    copies.filter(({ root }) => !own.has(root)),
    ({ root }) => root,
  )
  return Object.entries(others).map(([root, found]) => ['other', `${nearPath(root)}: ${found?.length} found`])
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
