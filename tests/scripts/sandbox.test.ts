import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import { HAS_BUBBLEWRAP, HAS_PYTHON, openScripts } from '../fixtures/scripts.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

const SYSTEM_CALLS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  x64: { keyctl: 250, addKey: 248, requestKey: 249 },
  arm64: { keyctl: 219, addKey: 217, requestKey: 218 },
}
const CALLS = SYSTEM_CALLS[process.arch]

/** Returns the command lines of all processes of this machine, except zombies. */
function commandLines(): readonly string[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(pid => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      } catch {
        return '' // ended in the meantime
      }
    })
}

describe.skipIf(!HAS_BUBBLEWRAP || !HAS_PYTHON)('the sandbox', () => {
  const runPython = async (
    folder: TemporaryFolder,
    program: string,
    {
      timeoutMs = 10_000,
      grants = [],
    }: { readonly timeoutMs?: number; readonly grants?: readonly string[] } = {},
  ): Promise<string> => {
    folder.writeSkill('skills/attack')
    folder.write('skills/attack/scripts/attack.py', program)
    await using skills = await openScripts(folder.at('skills'), { sandbox: 'require' })
    if (grants.length > 0) await skills.review.grant('attack', grants)
    try {
      return (await skills.scripts.run('attack', 'scripts/attack.py', [], { timeoutMs })).stdout
    } catch (thrown) {
      return String(thrown)
    }
  }

  test(`all processes of a program end before its result or error is returned ${verifies('PROMISE-8')}`, async () => {
    for (const [end, timeoutMs, expected] of [
      ["print('done'); sys.exit(0)", 10_000, /^done\n$/],
      ['time.sleep(60)', 700, /it took longer than/],
    ] as const) {
      for (let round = 0; round < 3; round++) {
        using folder = new TemporaryFolder()
        // Starts busy processes, which take long to end.
        const program = `import os, sys, time
for _ in range(30):
    if os.fork() == 0:
        os.setsid()
        while True: pass
${end}`
        const outcome = await runPython(folder, program, { timeoutMs })
        expect(commandLines().filter(line => line.includes('scripts/attack.py'))).toEqual([])
        expect(outcome).toMatch(expected)
      }
    }
  })

  test('removing a scratch folder deletes nothing outside it, even if the program keeps replacing folders with links', async () => {
    using folder = new TemporaryFolder()
    mkdirSync(folder.at('foreign/victim'), { recursive: true })
    for (let index = 0; index < 300; index++) folder.write(`foreign/victim/${index}`, 'x')
    const program = `import ctypes, os
libc = ctypes.CDLL(None)
root = os.environ['TMPDIR'].encode()
for number in range(30):
    os.makedirs(root + b'/%d/folder/victim' % number)
    os.symlink(${JSON.stringify(folder.at('foreign'))}.encode(), root + b'/%d/link' % number)
for _ in range(3):
    if os.fork() == 0: os.setsid()
while True:
    for number in range(30):
        libc.renameat2(-100, root + b'/%d/folder' % number, -100, root + b'/%d/link' % number, 2)`
    for (let round = 0; round < 3; round++) await runPython(folder, program, { timeoutMs: 400 })
    expect(readdirSync(folder.at('foreign/victim'))).toHaveLength(300)
  })

  test('a scratch folder that is hard to remove is removed, and the result of the program is returned', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/attack')
    folder.write(
      'skills/attack/scripts/attack.py',
      `import os
os.chdir(os.environ['TMPDIR'])
for number in range(60): os.makedirs('.deep-%d/x' % number)
for _ in range(100): os.mkdir('d'); os.chdir('d')
for _ in range(100): os.chmod('.', 0o500); os.chdir('..')
print('done')`,
    )
    await using skills = await openScripts(folder.at('skills'), {
      sandbox: 'require',
      directory: folder.at('own'),
    })
    expect((await skills.scripts.run('attack', 'scripts/attack.py')).stdout).toBe('done\n')
    const [own = ''] = readdirSync(folder.at('own'))
    expect(readdirSync(folder.at('own', own))).toEqual([])
  })

  test.skipIf(CALLS === undefined)(
    'a program in the sandbox has no access to the keyrings of the host',
    async () => {
      using folder = new TemporaryFolder()
      const calls = CALLS ?? {}
      // Calls KEYCTL_GET_KEYRING_ID for the session keyring, adds a key to this keyring and searches this keyring.
      const program = `import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def attempt(*arguments):
    result = libc.syscall(*arguments)
    return 'allowed' if result >= 0 else 'refused %d' % ctypes.get_errno()
print('keyctl', attempt(${calls['keyctl']}, 0, -3, 0))
print('add_key', attempt(${calls['addKey']}, b'user', b'mark', b'x', 1, -3))
print('request_key', attempt(${calls['requestKey']}, b'user', b'mark', None, -3))`
      const plain = spawnSync('/usr/bin/python3', ['-c', program], { encoding: 'utf8' })
      expect(plain.stdout).toBe('keyctl allowed\nadd_key allowed\nrequest_key allowed\n')
      expect(await runPython(folder, program)).toBe(
        'keyctl refused 1\nadd_key refused 1\nrequest_key refused 1\n',
      )
    },
  )

  test.skipIf(CALLS === undefined)('a program in the sandbox cannot create user namespaces', async () => {
    using folder = new TemporaryFolder()
    const program = `import ctypes, os, subprocess
libc = ctypes.CDLL(None, use_errno=True)
pid = os.fork()
if pid == 0: os._exit(0 if libc.unshare(0x10000000) == 0 else 1)
print('unshare', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print('program', subprocess.run(['/usr/bin/unshare', '-U', 'true'], stderr=subprocess.DEVNULL).returncode)
print('threads', subprocess.run(['/usr/bin/python3', '-c', 'import threading; threading.Thread(target=print).start()'], stdout=subprocess.DEVNULL).returncode)`
    const plain = spawnSync('/usr/bin/python3', ['-c', program], { encoding: 'utf8' })
    expect(plain.stdout).toBe('unshare 0\nprogram 0\nthreads 0\n')
    expect(await runPython(folder, program)).toBe('unshare 1\nprogram 1\nthreads 0\n')
  })

  test('the capability net includes abstract sockets of the host, and without it a program reaches none', async () => {
    const name = `skillstoke-${process.pid}`
    const server = createServer(socket => socket.end('answered')).listen({ path: `\0${name}` })
    await once(server, 'listening')
    try {
      const program = `import socket
client = socket.socket(socket.AF_UNIX)
try:
    client.connect('\\0${name}')
    print(client.recv(100).decode())
except OSError as error: print(type(error).__name__)`
      for (const [grants, expected] of [
        [[], 'ConnectionRefusedError\n'],
        [['net'], 'answered\n'],
      ] as const) {
        using folder = new TemporaryFolder()
        expect(await runPython(folder, program, { grants })).toBe(expected)
      }
    } finally {
      server.close()
    }
  })

  test('a program in the sandbox gets no file descriptor of the host', async () => {
    using folder = new TemporaryFolder()
    const program = `import os
for name in sorted(os.listdir('/proc/self/fd')):
    if len(name) > 1: continue # the parent of the test run may have left some open
    try: print(os.readlink('/proc/self/fd/' + name).split(':')[0])
    except FileNotFoundError: pass # the folder that was listed`
    const places = (await runPython(folder, program)).trim().split('\n')
    expect(places).toEqual(['/dev/null', 'socket', 'socket'])
  })
})
