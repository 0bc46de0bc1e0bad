import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, readFileSync } from 'node:fs'
import { delimiter } from 'node:path'
import { load } from 'js-yaml'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BIN } from './fixtures/cli.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

interface Action {
  readonly name: string
  readonly description: string
  readonly author: string
  readonly branding: object
  readonly inputs: Readonly<Record<string, { readonly description: string; readonly default: string }>>
  readonly runs: {
    readonly using: string
    readonly steps: readonly {
      readonly name: string
      readonly shell: string
      readonly env: Readonly<Record<string, string>>
      readonly run: string
    }[]
  }
}

const action = load(readFileSync('action.yml', 'utf8')) as Action
const STOKE = `${process.execPath} ${BIN}`
const GOOD = 'Creates VAT reports from invoices. Use when a quarter ends.'

let folder: TemporaryFolder

beforeEach(() => {
  folder = new TemporaryFolder()
  folder.writeSkill('skills/vat', { description: GOOD, body: 'Add up.' })
  folder.writeSkill('more/tax', { description: GOOD, body: 'Read [the rates](rates.md) of $ARGUMENTS.' })
})

afterEach(() => folder[Symbol.dispose]())

interface Run {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the steps of the action as GitHub does: with its shell, and with the inputs of a workflow. */
function runAction(given: Readonly<Record<string, string>>, program = STOKE): Run {
  const [step] = action.runs.steps
  const toValue = (text: string): string =>
    text.replaceAll(
      /\$\{\{ inputs\.([\w-]+) \}\}/g,
      (_all, name: string) => given[name] ?? action.inputs[name]?.default ?? 'UNKNOWN',
    )
  const env = Object.entries(step?.env ?? {}).map(([key, value]) => [key, toValue(value)] as const)
  const script = folder.write('step.sh', step?.run ?? '')
  const { status, stdout, stderr } = spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', script], {
    cwd: folder.path,
    encoding: 'utf8',
    env: {
      ...process.env,
      XDG_STATE_HOME: folder.at('state'),
      HOME: folder.at('home'),
      SKILLSTOKE_COMMAND: program,
      ...Object.fromEntries(env),
    },
  })
  return { status, stdout, stderr }
}

describe('the GitHub Action', () => {
  test('has the parts that GitHub requires of a composite action, and no others', () => {
    expect(Object.keys(action)).toEqual(['name', 'description', 'author', 'branding', 'inputs', 'runs'])
    expect(action.branding).toEqual({ icon: 'check-circle', color: 'orange' })
    expect(Object.keys(action.runs)).toEqual(['using', 'steps'])
    expect(action.runs.using).toBe('composite')
    for (const step of action.runs.steps)
      expect(Object.keys(step).sort()).toEqual(['env', 'name', 'run', 'shell'])
    for (const input of Object.values(action.inputs)) {
      expect(Object.keys(input)).toEqual(['description', 'default'])
      expect([typeof input.description, typeof input.default]).toEqual(['string', 'string'])
    }
  })

  test('reads each of its inputs once, and never inside of a script', () => {
    const [step] = action.runs.steps
    const read = Object.values(step?.env ?? {}).map(
      value => /^\$\{\{ inputs\.([\w-]+) \}\}$/.exec(value)?.[1],
    )
    expect(read).toEqual(Object.keys(action.inputs))
    expect(step?.run).not.toContain('${{')
  })

  test('annotates the findings of the named folders, and fails', () => {
    const { status, stdout, stderr } = runAction({ paths: 'skills\nmore\n' })
    expect(stderr).toBe('')
    expect(stdout).toMatch(/^::warning file=more\/tax\/SKILL\.md,line=5,col=\d+,title=LINK_DEAD::/m)
    expect(status).toBe(1)
  })

  test('checks the usual folders if none is named', () => {
    expect(runAction({})).toEqual({ status: 0, stdout: '', stderr: '' })
  })

  test('passes each input on', () => {
    expect(runAction({ paths: 'more', 'max-warnings': '1' }).status).toBe(0)
    const other = runAction({ paths: 'more', profiles: 'codex', 'max-warnings': '1' })
    expect(other.stdout).toContain('title=CLIENT_SYNTAX')
    expect(other.status).toBe(1)
    folder.write('more/tax/rates.md', 'Rates.\n')
    folder.write('more/tax/references/unused.md', 'Unused.\n')
    expect(runAction({ paths: 'more' }).status).toBe(0)
    expect(runAction({ paths: 'more', strict: 'true' }).status).toBe(1)
    const git = (...args: readonly string[]): string =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
        cwd: folder.path,
      }).toString()
    git('init', '--quiet')
    git('add', 'skills', 'more')
    git('commit', '--quiet', '-m', 'skills')
    folder.writeSkill('more/tax', { description: 'Use for tax', body: 'Add up.' })
    expect(runAction({ paths: 'more', since: 'HEAD' }).stdout).toContain('DESCRIPTION_TOO_SHORT')
    git('commit', '--quiet', '-a', '-m', 'worse')
    expect(runAction({ paths: 'more', since: 'HEAD' })).toMatchObject({ status: 0, stdout: '' })
  })

  test('passes text of a pull request on as text', () => {
    const input = { paths: '$(touch made)\n--fix\na b', profiles: '`touch made`', since: '; touch made' }
    const { stdout } = runAction(input, 'printf %s\\n')
    const flags = ['--format', 'github', '--max-warnings', '0', '--for', '`touch made`']
    const paths = ['--', '$(touch made)', '--fix', 'a b']
    expect(stdout.trim().split('\n')).toEqual(['check', ...flags, '--since', '; touch made', ...paths])
  })

  test('gets the named version of the package from npm', () => {
    const npx = folder.write('bin/npx', '#!/bin/sh\necho "$@"\n')
    chmodSync(npx, 0o755)
    const path = process.env['PATH']
    process.env['PATH'] = [folder.at('bin'), path].join(delimiter)
    try {
      expect(runAction({ version: '1.2.3' }, '').stdout).toBe(
        '--yes skillstoke@1.2.3 check --format github --max-warnings 0 --\n',
      )
    } finally {
      process.env['PATH'] = path
    }
  })
})

const hasPreCommit = spawnSync('pre-commit', ['--version']).status === 0

describe.skipIf(!hasPreCommit)('the hook for pre-commit', () => {
  test('checks the skills at each commit, and stops a commit with faults', () => {
    const stoke = folder.write('bin/stoke', `#!/bin/sh\nexec ${STOKE} "$@"\n`)
    chmodSync(stoke, 0o755)
    const env = {
      ...process.env,
      PATH: [folder.at('bin'), process.env['PATH']].join(delimiter),
      PRE_COMMIT_HOME: folder.at('cache'),
      XDG_STATE_HOME: folder.at('state'),
      HOME: folder.at('home'),
    }
    const git = (cwd: string, ...args: readonly string[]): Run =>
      spawnSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd, env, encoding: 'utf8' })
    folder.write('hooks/.pre-commit-hooks.yaml', readFileSync('.pre-commit-hooks.yaml'))
    const hooks = folder.at('hooks')
    git(hooks, 'init', '--quiet')
    git(hooks, 'add', '.')
    git(hooks, 'commit', '--quiet', '-m', 'hooks')
    const revision = git(hooks, 'rev-parse', 'HEAD').stdout.trim()
    const project = folder.at('project')
    folder.writeSkill('project/skills/vat', { description: GOOD, body: 'Add up.' })
    folder.write('project/README.md', 'See [x](x.md).\n')
    folder.write(
      'project/.pre-commit-config.yaml',
      `repos:\n  - repo: ${hooks}\n    rev: ${revision}\n    hooks:\n      - id: stoke-check\n`,
    )
    git(project, 'init', '--quiet')
    git(project, 'add', '.')
    expect(spawnSync('pre-commit', ['install'], { cwd: project, env }).status).toBe(0)
    const good = git(project, 'commit', '-m', 'good')
    expect([good.status, good.stderr]).toEqual([0, expect.stringMatching(/check agent skills\.+Passed/)])
    folder.writeSkill('project/skills/vat', { description: 'Use for tax', body: 'Add up.' })
    git(project, 'add', '.')
    const bad = git(project, 'commit', '-m', 'bad')
    expect([bad.status, bad.stderr]).toEqual([1, expect.stringContaining('DESCRIPTION_TOO_SHORT')])
    folder.write('project/README.md', 'See [y](y.md).\n')
    git(project, 'reset', '--quiet', '--hard')
    folder.write('project/README.md', 'See [y](y.md).\n')
    git(project, 'add', 'README.md')
    git(project, 'restore', '--staged', '--worktree', 'skills')
    const other = git(project, 'commit', '-m', 'other')
    expect([other.status, other.stderr]).toEqual([0, expect.stringContaining('Passed')])
    // A repository needs no skills.
    git(project, 'rm', '-r', '--quiet', 'skills')
    const none = git(project, 'commit', '-m', 'none')
    expect([none.status, none.stderr]).toEqual([0, expect.stringContaining('Passed')])
  })
})
