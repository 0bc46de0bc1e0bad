import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import { SkillError } from '@skillstoke/core'
import { countSkills, defined, isMisnamed, listNotSkills, listSkills } from '@skillstoke/core/internal'
import { childProcesses } from '@skillstoke/scripts'
import { type Config, pathsOf } from '../config/config.ts'
import { realPath } from '../config/real-path.ts'
import { readVersion } from '../config/version.ts'
import { findDrift, listClientFolders, listCopies } from '../doctor/find-drift.ts'
import { findSetupFaults, type SetupFacts, type SetupFinding } from '../doctor/find-setup-faults.ts'
import { listRunningDevs } from '../server/run-file.ts'
import { isFrozen, openSkills } from '../skills/open-skills.ts'
import type { Answer } from '../terminal/answer.ts'
import { EXIT_FINDINGS, EXIT_OK } from '../terminal/exit-code.ts'
import { formatTable, nearPath, paint, toAdvice, toTerminalLine } from '../terminal/output.ts'
import { listClients } from './mcp-clients.ts'

/** Implements `stoke doctor`: shows what was found where, judges it, and names a fix for each finding. */
export async function doctor(config: Config): Promise<Answer> {
  const facts = await gatherFacts(config)
  const findings = findSetupFaults(facts)
  const isFine = findings.every(({ severity }) => severity === 'info')
  return {
    json: { ...facts, stateDirectory: config.stateDirectory, findings },
    text: function* () {
      yield formatTable(describeFacts(facts, config))
      for (const finding of findings) yield* describeFinding(finding, config)
      if (isFine) yield 'nothing is wrong'
    },
    exit: isFine ? EXIT_OK : EXIT_FINDINGS,
  }
}

async function gatherFacts(config: Config): Promise<SetupFacts> {
  await using skills = await openSkills(config, {
    watching: 'auto',
    polling: 'manual',
    acceptsMissing: true,
    reportsUnreadable: true,
  })
  const folders = listClientFolders(config.roots.map(({ path }) => path))
  const [list, others, copies, containment, git, devs, isTaken, watches, watchInstances] = await Promise.all([
    listSkills(skills),
    listNotSkills(skills),
    listCopies(folders),
    findContainment(config),
    findGit(),
    listRunningDevs(config),
    isPortTaken(config.server),
    readLimit('max_user_watches'),
    readLimit('max_user_instances'),
  ])
  return {
    sources: countSkills(skills, pathsOf(config)).sources.map((source, index) => ({
      ...source,
      isRoot: index < config.roots.length,
      isNamed: config.roots[index]?.isNamed ?? true,
    })),
    skills: list.skills,
    misnamed: others.found.filter(each => isMisnamed(each)),
    copies,
    drift: findDrift(copies),
    containment,
    clients: listClients(),
    devs: devs.map(({ url, pid, roots }) => ({ url, pid, roots: roots.map(({ path }) => path) })),
    port: { number: config.server.port, isTaken },
    isFrozen: isFrozen(skills),
    ...defined({ git, watches, watchInstances }),
  }
}

function describeFacts(facts: SetupFacts, { stateDirectory }: Config): readonly (readonly string[])[] {
  const { sources, skills, containment, git, devs, clients, watches, watchInstances } = facts
  const served = skills.filter(({ serving }) => serving !== null).length
  const limits = watches === undefined ? 'none' : `${watches} watches, ${watchInstances} instances`
  const connected = clients.filter(({ state }) => state === 'connected').map(({ title }) => title)
  return [
    ['skillstoke', `${readVersion()} on Node ${process.versions.node}`],
    ...sources.map(({ path, skills: count, mode, diagnostics }) => [
      'source',
      diagnostics.some(({ code }) => code === 'ROOT_MISSING')
        ? `${path}: missing`
        : `${path}: ${count} found, watched by ${mode}`,
    ]),
    ...listOthers(facts).map(([root, count]) => ['other', `${nearPath(root)}: ${count} found, not a root`]),
    ['skills', `${skills.length} found, ${served} served, ${countDuplicates(facts)} in several folders`],
    ['state', nearPath(stateDirectory)],
    ['scripts', `${containment.kind}: ${containment.detail}`],
    ['git', git ?? 'missing'],
    ['inotify', limits],
    ...devs.map(({ url, pid, roots }) => [
      'dev',
      `${url}, process ${pid}: ${roots.map(nearPath).join(', ')}`,
    ]),
    ['clients', connected.length === 0 ? 'none connected' : `connected: ${connected.join(', ')}`],
  ].map(row => row.map(toTerminalLine))
}

/** Returns the folders of clients that are no roots, with the number of their skills. */
function listOthers({ copies, sources }: SetupFacts): readonly (readonly [root: string, count: number])[] {
  const roots = new Set(sources.map(({ path }) => realPath(path)))
  const groups = Object.entries(Object.groupBy(copies, ({ root }) => root))
  return groups.flatMap(([root, found = []]) => (roots.has(root) ? [] : [[root, found.length] as const]))
}

function countDuplicates({ copies }: SetupFacts): number {
  return Object.values(Object.groupBy(copies, ({ name }) => name)).filter(found => (found?.length ?? 0) > 1)
    .length
}

function* describeFinding({ severity, message, fix }: SetupFinding, { options }: Config): Generator<string> {
  const style = severity === 'error' ? 'red' : severity === 'warning' ? 'yellow' : 'dim'
  yield `${paint(style, severity)} ${toTerminalLine(message)}\n    fix: ${toAdvice(fix, options)}`
}

async function findContainment({ sandbox }: Config): Promise<SetupFacts['containment']> {
  try {
    return await childProcesses({ sandbox }).containment()
  } catch (thrown) {
    if (SkillError.isInstance(thrown)) return { kind: 'none', detail: thrown.message }
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
  if (port === 0) return false
  const server = createServer()
  try {
    return await new Promise<boolean>(resolve => {
      server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'EADDRINUSE'))
      server.listen(port, host, () => resolve(false))
    })
  } finally {
    server.close()
  }
}

/** Reads a limit of Linux. */
async function readLimit(name: string): Promise<number | undefined> {
  const text = await readFile(`/proc/sys/fs/inotify/${name}`, 'utf8').catch(() => undefined)
  return text === undefined ? undefined : Number(text)
}
