import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import type { HostOutcome, HostSetup } from '../fixtures/script-host.ts'
import { HAS_BUBBLEWRAP, HAS_PYTHON } from '../fixtures/scripts.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

// Node 22 strips types only with this flag.
const HOST = [
  '--experimental-strip-types',
  '--disable-warning=ExperimentalWarning',
  fileURLToPath(new URL('../fixtures/script-host.ts', import.meta.url)),
]
const IS_ROOT = process.getuid?.() === 0
/** An ordinary user without a name. */
const USER = 4_711
// If the files of the project are in a folder of root, another user cannot start a host.
const HAS_USER =
  IS_ROOT && spawnSync(process.execPath, ['--check', ...HOST], { uid: USER, gid: USER }).status === 0

/** Opens each file below /proc and /sys for writing, writes nothing, and prints the files that could be opened. */
const OPEN_FOR_WRITING = `import os, stat
for root in ['/proc', '/sys']:
    for folder, folders, names in os.walk(root):
        for path in [folder + '/' + name for name in names]:
            try:
                if not stat.S_ISREG(os.lstat(path).st_mode): continue
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW))
                print(path)
            except OSError: pass
print('user', os.getuid(), os.getgid(), os.getgroups() or '')
`

/** Does the same with Node for files that exist on most machines, because a script may not list these folders. */
const OPEN_IN_NODE = `import { openSync } from 'node:fs'
for (const path of ['/proc/sys/kernel/core_pattern', '/proc/sys/vm/drop_caches', '/proc/sysrq-trigger', '/proc/irq/default_smp_affinity', '/proc/self/oom_score_adj', '/sys/power/state'])
  try { openSync(path, 1); console.log(path) } catch (error) { if (error.code !== 'ERR_ACCESS_DENIED' && error.code !== 'ENOENT') throw error }
console.log('tried')
`

interface World {
  readonly folder: TemporaryFolder
  readonly runHost: (setup: Partial<HostSetup>, prefix?: readonly string[]) => HostOutcome
}

/** Prepares a skill in a folder that belongs to `uid`. A returned function starts a host as this user. */
function open(uid: number | undefined): World & Disposable {
  const folder = new TemporaryFolder()
  folder.writeSkill('skills/probe')
  folder.write('skills/probe/scripts/kernel.py', OPEN_FOR_WRITING)
  folder.write('skills/probe/scripts/kernel.mjs', OPEN_IN_NODE)
  folder.write(
    'skills/probe/scripts/user.sh',
    'id -u; id -g; echo x > "$TMPDIR/x" && echo x > /tmp/x && echo wrote',
  )
  folder.write('skills/probe/scripts/leave.py', 'open("result.txt", "a").write("x"); print("left")')
  mkdirSync(folder.at('work'))
  mkdirSync(folder.at('home'))
  if (uid !== undefined) {
    chmodSync(folder.path, 0o755)
    for (const path of ['work', 'home']) chownSync(folder.at(path), uid, uid)
  }
  return {
    folder,
    runHost: (setup, prefix = []) => {
      const given: HostSetup = {
        skills: folder.at('skills'),
        grants: [],
        scripts: ['scripts/user.sh'],
        ...setup,
        runner: { workspace: folder.at('work'), ...setup.runner },
      }
      const [command, ...args] = [...prefix, process.execPath, ...HOST, JSON.stringify(given)]
      const { stdout, stderr } = spawnSync(command, args, {
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], HOME: folder.at('home') },
        ...(uid === undefined ? {} : { uid, gid: uid }),
      })
      expect(stderr).toBe('')
      return JSON.parse(stdout) as HostOutcome
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

describe.each([
  { as: IS_ROOT ? 'root' : 'the current user', uid: undefined, isSkipped: false },
  { as: 'an ordinary user', uid: USER, isSkipped: !HAS_USER },
])('a host that runs as $as', ({ uid, isSkipped }) => {
  test.skipIf(isSkipped || !HAS_BUBBLEWRAP || !HAS_PYTHON)(
    `gives a script in the sandbox no file of the kernel to write, whatever is granted ${verifies('PROMISE-8')}`,
    () => {
      using world = open(uid)
      for (const grants of [[], ['net', 'exec'], ['fs.write'], ['fs.read:/proc/sys', 'fs.read:/sys']]) {
        const { outputs } = world.runHost({
          grants,
          scripts: ['scripts/kernel.py', 'scripts/kernel.mjs'],
          runner: { sandbox: 'require' },
        })
        expect(outputs).toEqual([expect.stringMatching(/^user [^/]*$/), 'tried\n'])
      }
    },
  )

  test.skipIf(isSkipped)('without a sandbox, runs no program, and Node refuses to open these files', () => {
    using world = open(uid)
    const { outputs } = world.runHost({
      scripts: ['scripts/kernel.py', 'scripts/kernel.mjs'],
      runner: { sandbox: 'off' },
    })
    expect(outputs).toEqual([expect.stringMatching(/^SCRIPT_REFUSED: .*without containment/), 'tried\n'])
  })

  test.skipIf(isSkipped)('refuses grants to write kernel settings, with and without a sandbox', () => {
    using world = open(uid)
    for (const sandbox of ['auto', 'off'] as const)
      for (const path of ['/proc/sys/kernel', '/sys', '/'])
        expect(
          world.runHost({ grants: [`fs.write:${path}`, 'exec'], runner: { sandbox } }).outputs[0],
        ).toMatch(/^SCRIPT_REFUSED: .*no script may (?:write to|see)/)
  })
})

describe.skipIf(!IS_ROOT || !HAS_BUBBLEWRAP || !HAS_PYTHON)('the scripts of root in the sandbox', () => {
  const runner = { sandbox: 'require' } as const

  test('run as nobody, and may write to their own folders', () => {
    using world = open(undefined)
    expect(world.runHost({ runner }).outputs).toEqual(['65534\n65534\nwrote\n'])
  })

  test('run as nobody if the host has a strict mask for the modes of new files', () => {
    using world = open(undefined)
    const prefix = ['/bin/sh', '-c', 'umask 077; exec "$0" "$@"']
    expect(world.runHost({ runner }, prefix).outputs).toEqual(['65534\n65534\nwrote\n'])
  })

  test.each([
    ['fs.write', USER],
    ['fs.read', USER],
    ['fs.write', 0],
  ])('run as the owner of the folder that %s grants, whose new files belong to user %i', (grant, owner) => {
    using world = open(undefined)
    const { folder } = world
    chownSync(folder.at('work'), owner, owner)
    // Only the owner may use the folder, and another user may not even reach it outside of the sandbox.
    chmodSync(folder.at('work'), 0o700)
    chmodSync(folder.path, 0o700)
    const scripts = ['scripts/user.sh', 'scripts/leave.py']
    const [ids, left] = world.runHost({ grants: [grant], scripts, runner }).outputs
    expect(ids).toBe(`${owner}\n${owner}\nwrote\n`)
    if (grant === 'fs.read') expect(left).toContain('Read-only file system')
    else expect(statSync(folder.at('work/result.txt'))).toMatchObject({ uid: owner, gid: owner })
  })

  test.each([USER, 0])('are refused if fs.write grants folders of user %i and of another user', owner => {
    using world = open(undefined)
    const paths = ['work/one', 'work/two'].map(path => world.folder.at(path))
    const [one = '', two = ''] = paths
    for (const path of paths) mkdirSync(path)
    chownSync(one, owner, owner)
    chownSync(two, USER + 1, USER + 1)
    const grants = ['fs.write:one', 'fs.write:two']
    expect(world.runHost({ grants, runner }).outputs).toEqual([
      `SCRIPT_REFUSED: fs.write:two is granted, but ${two} belongs to user ${USER + 1}, and ${one} to user ${owner}; a host of root runs a script as one user, so grant folders of one owner`,
    ])
  })

  test('are refused with the reason if no program can change their user, and Node still confines modules', () => {
    using world = open(undefined)
    const hide = ['/usr/bin/unshare', '-m', '/bin/sh', '-c']
    const prefix = [...hide, 'mount --bind /dev/null "$(command -v setpriv)" && exec "$0" "$@"']
    const scripts = ['scripts/user.sh', 'scripts/kernel.mjs']
    const { containment, outputs } = world.runHost({ scripts }, prefix)
    expect(containment).toBe(
      'permissions: the host runs as root, and setpriv, which runs scripts as another user, is not installed',
    )
    expect(outputs).toEqual([
      expect.stringMatching(/^SCRIPT_REFUSED: .*\(the host runs as root, and setpriv/),
      'tried\n',
    ])
  })
})
