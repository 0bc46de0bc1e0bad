import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createSkillRuntime, type SkillRuntime } from '@skillstoke/core'
import { nodeHasher, openSkillStore } from '@skillstoke/core/node'
import { git } from '@skillstoke/sources'
import { GitServer } from '../../tests/fixtures/git-server.ts'
import { type Figure, type MeasureOptions, percentiles, round } from '../figure.ts'
import { Tree } from '../tree.ts'

const run = promisify(execFile)

const SKILLS = 2_000
const RUNS = 3
const POLLS = 20

/** Measures a repository over smart HTTP on loopback: the first sync, a restart, and polls that find no change or one change. */
export async function* b13(_options: MeasureOptions): AsyncGenerator<Figure> {
  using tree = await Tree.make(SKILLS)
  await using server = await GitServer.start()
  const repository = server.create('skills')
  const inTree = (...args: string[]): void => {
    const who = ['-c', 'user.name=Bench', '-c', 'user.email=bench@example.com']
    execFileSync('git', ['-C', tree.path, ...who, ...args], { stdio: 'ignore' })
  }
  const publish = (message: string): void => {
    inTree('add', '--all')
    inTree('commit', '--quiet', '--message', message)
    inTree('push', '--quiet', repository.directory, 'HEAD:refs/heads/main')
  }
  inTree('init', '--quiet')
  publish('first')
  const folder = mkdtempSync(join(tmpdir(), 'skillstoke-bench-git-'))
  try {
    const first: number[] = []
    const again: number[] = []
    for (let i = 0; i < RUNS; i++) {
      for (const times of [first, again]) {
        const begin = performance.now()
        const skills = await open(server, join(folder, `state-${i}`))
        times.push(performance.now() - begin)
        await skills.close()
      }
    }
    yield figure('first sync of a repository', first, {
      'git clone --depth 1': await gitTime(
        'clone',
        '--quiet',
        '--depth',
        '1',
        server.url('skills'),
        join(folder, 'clone'),
      ),
    })
    yield figure('start with an earlier fetch', again, {})
    const skills = await open(server, join(folder, 'state-0'))
    const idle: number[] = []
    for (let i = 0; i < POLLS; i++) idle.push(await timed(async () => void (await skills.reload())))
    const pull = async (): Promise<number> =>
      await gitTime('-C', join(folder, 'clone'), 'pull', '--quiet', '--ff-only')
    yield figure('poll without a change', idle, { 'git pull --ff-only': await pull() })
    const changed: number[] = []
    for (let i = 0; i < POLLS; i++) {
      tree.save(i, `change ${i}`)
      publish(`change ${i}`)
      changed.push(await timed(async () => void (await skills.reload())))
    }
    yield figure('poll with one changed file', changed, {
      'git pull --ff-only, 20 changes at once': await pull(),
    })
    await skills.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function open(server: GitServer, state: string): Promise<SkillRuntime> {
  const source = git(server.url('skills'), {
    trust: 'auto',
    stateDirectory: state,
    privateHosts: [server.host],
    polling: 'manual',
    firstWaitMs: 60_000,
  })
  const skills = await createSkillRuntime({
    sources: [source],
    state: { store: await openSkillStore(state) },
    tuning: { hasher: nodeHasher },
  })
  const found = skills.current.list().length
  if (found !== SKILLS) throw new Error(`${found} skills instead of ${SKILLS}`)
  return skills
}

// Runs git asynchronously, because the git server runs in this process, too.
async function gitTime(...args: string[]): Promise<number> {
  return round(await timed(async () => void (await run('git', args))))
}

async function timed(work: () => Promise<void>): Promise<number> {
  const begin = performance.now()
  await work()
  return performance.now() - begin
}

function figure(what: string, samples: readonly number[], peers: Figure['peers']): Figure {
  return {
    id: 'B13',
    what,
    n: SKILLS,
    value: percentiles(samples),
    unit: 'ms',
    target: 'as fast as git',
    peers,
  }
}
