import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import { SkillError } from '@skillstoke/core'
import { countSkills, isMisnamed, listNotSkills, listSkills } from '@skillstoke/core/internal'
import { childProcesses } from '@skillstoke/scripts'
import { type Config, pathsOf } from '../config/config.ts'
import { realPath } from '../config/real-path.ts'
import { readVersion } from '../config/version.ts'
import {
  judgeClient,
  judgeCopies,
  judgeMachine,
  judgeSkills,
  judgeSource,
  type MachineFacts,
  type SetupFinding,
} from '../doctor/examine-setup.ts'
import { listCopies } from '../doctor/list-copies.ts'
import { listRunningDevs } from '../server/run-file.ts'
import { toAnswering } from '../skills/answering.ts'
import { isFrozen, openSkills } from '../skills/open-skills.ts'
import type { Answer } from '../terminal/answer.ts'
import { EXIT_FINDINGS, EXIT_OK } from '../terminal/exit-code.ts'
import { formatTable, nearPath, paint, toAdvice, toTerminalLine } from '../terminal/output.ts'
import { listClients } from './mcp-clients.ts'

const STYLES = { error: 'red', warning: 'yellow', info: 'dim' } as const

/** Implements `stoke doctor`: shows what was found where, judges it, and names a fix for each finding. */
export async function doctor(config: Config): Promise<Answer> {
  const { facts, findings } = await examine(config)
  const isFine = findings.every(({ severity }) => severity === 'info')
  const sorted = Object.keys(STYLES).flatMap(each => findings.filter(({ severity }) => severity === each))
  return {
    json: { facts: facts.map(([about, text]) => ({ about, text })), findings: sorted },
    text: function* () {
      yield formatTable(facts.map(row => row.map(toTerminalLine)))
      for (const { severity, message, fix } of sorted)
        yield `${paint(STYLES[severity], severity)} ${toTerminalLine(message)}\n    fix: ${toAdvice(fix, config.options)}`
      if (isFine) yield 'nothing is wrong'
    },
    exit: isFine ? EXIT_OK : EXIT_FINDINGS,
  }
}

type Fact = readonly [about: string, text: string]

async function examine(
  config: Config,
): Promise<{ readonly facts: readonly Fact[]; readonly findings: readonly SetupFinding[] }> {
  const options = {
    watching: 'auto',
    polling: 'manual',
    acceptsMissing: true,
    reportsUnreadable: true,
  } as const
  await using skills = await openSkills(config, options)
  const { sources } = countSkills(skills, pathsOf(config))
  const { skills: rows } = await listSkills(toAnswering(skills, config))
  const misnamed = (await listNotSkills(skills)).found.filter(each => isMisnamed(each))
  const copies = await listCopies(config.roots.map(({ path }) => path))
  const devs = await listRunningDevs(config)
  const clients = listClients()
  const [containment, git, limits] = await Promise.all([findContainment(config), findGit(), readLimits()])
  const { port } = config.server
  const isOwn = devs.some(({ url }) => new URL(url).port === String(port))
  const takenPort = !isOwn && (await isPortTaken(config.server)) ? port : undefined
  const needsGit = config.remotes.length > 0
  return {
    facts: [
      [
        'skillstoke',
        `${readVersion()} on Node ${process.versions.node}, state in ${nearPath(config.stateDirectory)}`,
      ],
      ...sources.map(({ path, isMissing, skills: count, mode }): Fact => {
        return ['source', isMissing ? `${path}: missing` : `${path}: ${count} found, watched by ${mode}`]
      }),
      ...countOthers(copies, config).map(
        ([root, count]): Fact => ['other', `${nearPath(root)}: ${count} found`],
      ),
      ['skills', `${rows.length} found, ${rows.filter(({ serving }) => serving !== null).length} served`],
      [
        'scripts',
        containment === undefined ? 'do not run here' : `${containment.kind}: ${containment.detail}`,
      ],
      ['git', git ?? 'missing'],
      ['inotify', limits],
      ...devs.map(({ url, pid, roots }): Fact => {
        return ['dev', `${url}, process ${pid}: ${roots.map(({ path }) => nearPath(path)).join(', ')}`]
      }),
      ...clients.map(({ title, state }): Fact => ['client', `${title}: ${state}`]),
    ],
    findings: [
      ...sources.flatMap((source, index) => judgeSource(source, config.roots[index]?.isNamed ?? true)),
      ...judgeSkills(rows, misnamed),
      ...judgeCopies(copies),
      ...judgeMachine({ containment, git, needsGit, isFrozen: isFrozen(skills), takenPort }),
      ...clients.flatMap(judgeClient),
    ],
  }
}

/** Returns the folders of clients that are no roots, with the number of their skills. */
function countOthers(
  copies: Awaited<ReturnType<typeof listCopies>>,
  { roots }: Config,
): readonly (readonly [root: string, count: number])[] {
  const own = new Set(roots.map(({ path }) => realPath(path)))
  const others = copies.filter(({ root }) => !own.has(root))
  return Object.entries(Object.groupBy(others, ({ root }) => root)).map(([root, found = []]) => [
    root,
    found.length,
  ])
}

async function findContainment({ sandbox }: Config): Promise<MachineFacts['containment']> {
  try {
    return await childProcesses({ sandbox }).containment()
  } catch (thrown) {
    if (SkillError.isInstance(thrown, 'UNSUPPORTED_RUNTIME')) return undefined
    throw thrown
  }
}

async function findGit(): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('git', ['--version'], { timeout: 5_000 })
    return stdout.trim().replace(/^git version /, '')
  } catch {
    return undefined
  }
}

async function isPortTaken({ port, host }: Config['server']): Promise<boolean> {
  const server = createServer()
  const taken = new Promise<boolean>(resolve => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'EADDRINUSE'))
    server.listen(port, host, () => server.close(() => resolve(false)))
  })
  return await taken
}

/** Describes the limits of Linux for watched folders. */
async function readLimits(): Promise<string> {
  const read = async (name: string): Promise<string> => await readFile(`/proc/sys/fs/inotify/${name}`, 'utf8')
  const limits = [read('max_user_watches'), read('max_user_instances')]
  const [watches, instances] = await Promise.all(limits).catch(() => [])
  return watches === undefined ? 'no limits' : `${watches.trim()} watches, ${instances?.trim()} instances`
}
