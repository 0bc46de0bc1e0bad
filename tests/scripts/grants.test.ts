import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { homedir } from 'node:os'
import { basename } from 'node:path'
import type { SkillRuntime } from '@skillstoke/core'
import { openDecisions } from '@skillstoke/core/node'
import type { ScriptRunOptions } from '@skillstoke/core/source'
import { verifies } from '@skillstoke/requirements'
import { describe, expect, test } from 'vitest'
import {
  commandText,
  countScriptProcesses,
  HAS_BUBBLEWRAP,
  openScripts,
  type ScriptSetup,
} from '../fixtures/scripts.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

function writeSkill(folder: TemporaryFolder, capabilities: string, body: string, path = 'deploy'): void {
  const declared = capabilities === '' ? '' : `metadata:\n  capabilities: ${capabilities}\n`
  folder.write(
    `${path}/SKILL.md`,
    `---\nname: ${basename(path)}\ndescription: Deploys.\n${declared}---\nDeploys.\n`,
  )
  folder.write(`${path}/scripts/go.js`, commandText('go', body))
}

const run = async (skills: SkillRuntime, input: unknown = {}): Promise<unknown> =>
  (await skills.scripts.execute('deploy.go', input)).value
const codes = (skills: SkillRuntime): readonly string[] =>
  skills.current.reports().flatMap(({ diagnostics }) => diagnostics.map(({ code }) => code))

describe('a trusted source', () => {
  test(`code runs immediately if it asks for no capabilities, and otherwise after its capabilities are granted ${verifies('PROMISE-8')}`, async () => {
    using folder = new TemporaryFolder()
    writeSkill(folder, '', 'return "first"')
    await using skills = await openScripts(folder.path)
    expect(await run(skills)).toBe('first')
    writeSkill(folder, 'env:TOKEN', 'return "second"')
    expect(await run(skills)).toBe('first')
    expect(skills.current.reports()).toMatchObject([
      {
        status: 'warning',
        diagnostics: [
          {
            code: 'CAPABILITY_NOT_GRANTED',
            message: 'the scripts lack a grant for env:TOKEN',
            fix: 'read the scripts first, then decide: stoke grant deploy env:TOKEN',
          },
        ],
      },
    ])
    await skills.review.grant('deploy', ['env:TOKEN'], { by: 'Ada' })
    expect(await run(skills)).toBe('second')
    expect(codes(skills)).toEqual([])
    // An edit that asks for no new capability is served immediately.
    writeSkill(folder, 'env:TOKEN', 'return "third"')
    expect(await run(skills)).toBe('third')
    writeSkill(folder, 'env:TOKEN net', 'return "fourth"')
    expect(await run(skills)).toBe('third')
    expect(codes(skills)).toEqual(['CAPABILITY_NOT_GRANTED'])
  })

  test('a skill of a trusted source has no commands before the first grant or after a revoke', async () => {
    using folder = new TemporaryFolder()
    writeSkill(folder, 'exec', 'return "ran"')
    await using skills = await openScripts(folder.path)
    await expect(run(skills)).rejects.toMatchObject({
      code: 'SCRIPT_REFUSED',
      message:
        'there is no command "deploy.go"; the scripts lack a grant for exec; a person can read the scripts first, then decide: stoke grant deploy exec',
    })
    await skills.review.grant('deploy', ['exec'])
    expect(await run(skills)).toBe('ran')
    await skills.review.revoke('deploy', ['exec'])
    await expect(run(skills)).rejects.toMatchObject({ code: 'SCRIPT_REFUSED' })
    expect(skills.scripts.list()).toEqual([])
  })

  /** Starts a call that never ends by itself. Resolves when the call has begun. */
  const begin = async (
    work: (options: ScriptRunOptions) => Promise<unknown>,
  ): Promise<{ readonly end: Promise<unknown> }> => {
    const begun = Promise.withResolvers<void>()
    const end = work({ onLine: () => begun.resolve() }).then(
      value => value,
      (thrown: unknown) => thrown,
    )
    await Promise.race([begun.promise, end])
    return { end }
  }
  const FOREVER = "context.log('begun'); await new Promise(() => setInterval(() => {}, 1000))"
  const env = { ...process.env, TOKEN: 'a-token' }

  test('a running call of older code ends immediately when a capability of that code is revoked', async () => {
    using folder = new TemporaryFolder()
    writeSkill(folder, 'env:TOKEN', FOREVER)
    await using skills = await openScripts(folder.path, { env })
    await skills.review.grant('deploy', ['env:TOKEN'])
    const call = await begin(options => skills.scripts.execute('deploy.go', {}, options))
    writeSkill(folder, 'env:TOKEN', 'return "newer"')
    expect(await run(skills)).toBe('newer')
    await skills.review.revoke('deploy', ['env:TOKEN'])
    expect(String(await call.end)).toContain('the process ended without a result')
    await expect(run(skills)).rejects.toMatchObject({ code: 'SCRIPT_REFUSED' })
  })

  test('after a revoke, the older code accepts no calls while the newer code loads', async () => {
    using folder = new TemporaryFolder()
    writeSkill(folder, 'env:TOKEN', 'return "older"')
    await using skills = await openScripts(folder.path, { env, loadTimeoutMs: 600_000 })
    await skills.review.grant('deploy', ['env:TOKEN'])
    expect(await run(skills)).toBe('older')
    folder.write(
      'deploy/scripts/go.js',
      commandText('go', 'return "newer"', 'await new Promise(() => setInterval(() => {}, 1000))'),
    )
    expect(await run(skills)).toBe('older')
    await skills.review.revoke('deploy', ['env:TOKEN'])
    await expect(run(skills)).rejects.toMatchObject({ code: 'SCRIPT_REFUSED' })
  })

  test('a revoke ends a call that still runs on unloaded code, even if the skill was loaded again', async () => {
    using folder = new TemporaryFolder()
    writeSkill(folder, 'env:TOKEN', `if (input.fine) return 'fine'; ${FOREVER}`)
    await using skills = await openScripts(folder.path, { env })
    await skills.review.grant('deploy', ['env:TOKEN'])
    const call = await begin(options => skills.scripts.execute('deploy.go', {}, options))
    const unloaded = skills.scripts.unload('deploy')
    await skills.scripts.reload('deploy')
    expect(skills.scripts.list().map(({ id }) => id)).toEqual(['deploy.go'])
    expect(await run(skills, { fine: true })).toBe('fine')
    await skills.review.revoke('deploy', ['env:TOKEN'])
    expect(String(await call.end)).toContain('the process ended without a result')
    expect(await unloaded).toBe('unloaded')
  })

  test.skipIf(!HAS_BUBBLEWRAP)('after a revoke, a running script without commands ends', async () => {
    using folder = new TemporaryFolder()
    writeSkill(folder, 'env:TOKEN', 'return 1')
    folder.write('deploy/scripts/wait.sh', 'echo begun\nsleep 600\n')
    await using skills = await openScripts(folder.path, { env })
    await skills.review.grant('deploy', ['env:TOKEN'])
    const file = await begin(options =>
      skills.scripts.run('deploy', 'scripts/wait.sh', [], { ...options, timeoutMs: 600_000 }),
    )
    await skills.review.revoke('deploy', ['env:TOKEN'])
    expect(await file.end).toMatchObject({
      code: 'SCRIPT_REFUSED',
      message: 'permission to run deploy was revoked while it ran',
    })
  })

  test('close() ends code that is still loading, even if its skill was removed', async () => {
    using folder = new TemporaryFolder()
    writeSkill(folder, '', 'return 1')
    const skills = await openScripts(folder.path, { loadTimeoutMs: 600_000 })
    expect(await run(skills)).toBe(1)
    folder.write(
      'deploy/scripts/go.js',
      commandText('go', 'return 2', 'await new Promise(() => setInterval(() => {}, 1000))'),
    )
    expect(await run(skills)).toBe(1)
    folder.remove('deploy')
    await skills.reload()
    await skills.close()
    expect(countScriptProcesses()).toBe(0)
  })

  test('each grant is stored together with its author', async () => {
    using folder = new TemporaryFolder()
    using state = new TemporaryFolder()
    writeSkill(folder, 'net', 'return "ran"')
    const open = async (): Promise<SkillRuntime> =>
      await openScripts(folder.path, { runtime: { state: { decisions: await openDecisions(state.path) } } })
    await using first = await open()
    await first.review.grant('deploy', ['net'], { by: 'Ada', note: 'for the API' })
    expect(await first.review.decisions('deploy')).toMatchObject([
      { kind: 'grant', capabilities: ['net'], by: 'Ada', note: 'for the API' },
    ])
    expect(await first.review.grant('deploy', ['net'])).toMatchObject({ isNew: false })
    await first.close()
    await using second = await open()
    expect(await run(second)).toBe('ran')
  })

  test('an unknown capability is reported in a skill, and is refused in a grant', async () => {
    using folder = new TemporaryFolder()
    writeSkill(folder, 'everything', 'return "ran"')
    await using skills = await openScripts(folder.path)
    expect(await run(skills)).toBe('ran')
    expect(codes(skills)).toEqual(['CAPABILITY_UNKNOWN'])
    await expect(skills.review.grant('deploy', ['network'])).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message:
        '"network" is not a capability; the capabilities are net, exec, env:NAME, fs.read, fs.write, fs.read:path, fs.write:path',
    })
    await expect(skills.review.grant('deploy', [])).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })
})

describe('a reviewed source', () => {
  test(`an approval grants the capabilities that the approved revision declares, and grants nothing to the next revision ${verifies('PROMISE-8')}`, async () => {
    using folder = new TemporaryFolder()
    writeSkill(folder, 'env:TOKEN', 'return process.env.TOKEN === undefined ? "none" : "granted"')
    await using skills = await openScripts(folder.path, {
      source: { trust: 'review' },
      env: { ...process.env, TOKEN: 'value-of-the-token' },
    })
    expect(skills.scripts.list()).toEqual([])
    await skills.review.approve('deploy')
    expect(await run(skills)).toBe('granted')
    writeSkill(folder, 'env:TOKEN', 'return "newer"')
    expect(await run(skills)).toBe('granted')
    await skills.review.approve('deploy')
    expect(await run(skills)).toBe('newer')
  })

  test('a grant in a reviewed source applies to one revision only', async () => {
    using folder = new TemporaryFolder()
    writeSkill(folder, '', 'return "first"')
    await using skills = await openScripts(folder.path, { source: { trust: 'review' } })
    await skills.review.approve('deploy')
    await skills.review.grant('deploy', ['exec'])
    const skill = skills.current.get('deploy')
    expect(skills.review.grantedTo(skill)).toEqual(['exec'])
    writeSkill(folder, '', 'return "second"')
    await skills.reload()
    await skills.review.approve('deploy')
    expect(skills.review.grantedTo(skills.current.get('deploy'))).toEqual([])
  })
})

describe('granted capabilities', () => {
  const tiers = [['off'], ['require']] as const
  for (const [sandbox] of tiers) {
    describe.skipIf(sandbox === 'require' && !HAS_BUBBLEWRAP)(`with sandbox ${sandbox}`, () => {
      const open = async (
        folder: TemporaryFolder,
        grants: readonly string[],
        env: Readonly<Record<string, string>> = {},
      ): Promise<SkillRuntime> => {
        const skills = await openScripts(folder.at('skills'), {
          sandbox,
          workspace: folder.at('work'),
          env: { PATH: process.env['PATH'] ?? '', ...env },
        })
        await skills.review.grant('deploy', grants)
        return skills
      }
      const write = (folder: TemporaryFolder, capabilities: string, body: string): void => {
        const declared = `metadata:\n  capabilities: ${capabilities}\n`
        folder.write('skills/deploy/SKILL.md', `---\nname: deploy\ndescription: d\n${declared}---\nx\n`)
        folder.write('skills/deploy/scripts/go.js', commandText('go', body))
      }

      test('file capabilities give read or write access only to the workspace and to named paths', async () => {
        using folder = new TemporaryFolder()
        folder.write('work/in.txt', 'of the workspace')
        folder.write('named/in.txt', 'of another place')
        folder.write('named-too/in.txt', 'of a neighbour')
        const words = ['fs.read', `fs.write:${folder.at('named')}`]
        write(
          folder,
          words.join(' '),
          `const fs = await import('node:fs')
           const attempt = work => { try { return work() } catch (error) { return error.code } }
           return [process.cwd() === input.work, attempt(() => fs.readFileSync('in.txt', 'utf8')), attempt(() => fs.writeFileSync('out.txt', 'x')),
             attempt(() => fs.readFileSync(input.named + '/in.txt', 'utf8')), attempt(() => fs.writeFileSync(input.named + '/out.txt', 'x')),
             attempt(() => fs.readFileSync(input.named + '-too/in.txt', 'utf8'))]`,
        )
        await using skills = await open(folder, words)
        expect(await run(skills, { work: folder.at('work'), named: folder.at('named') })).toEqual([
          true,
          'of the workspace',
          'ERR_ACCESS_DENIED',
          'of another place',
          null,
          expect.stringMatching(/^(ERR_ACCESS_DENIED|ENOENT)$/),
        ])
      })

      test('a granted folder can be listed even if another granted path is inside it', async () => {
        using folder = new TemporaryFolder()
        folder.write('work/sub/in.txt', 'x')
        const words = ['fs.read:sub', 'fs.read']
        write(folder, words.join(' '), "return (await import('node:fs')).readdirSync('.').join()")
        await using skills = await open(folder, words)
        expect(await run(skills)).toBe('sub')
      })

      /**
       * Loads a skill and grants all capabilities that its one command declares. Resolves with the result of the
       * command, or with the reason of a refusal.
       */
      const attempt = async (
        folder: TemporaryFolder,
        capabilities: readonly string[],
        body: string,
        setup: ScriptSetup = {},
      ): Promise<unknown> => {
        write(folder, capabilities.join(' '), `const fs = await import('node:fs'); ${body}`)
        await using skills = await openScripts(folder.at('skills'), {
          sandbox,
          workspace: folder.at('work'),
          ...setup,
        })
        await skills.review.grant('deploy', capabilities)
        return await run(skills).catch((thrown: unknown) => String(thrown))
      }

      test('a grant is refused if its path goes through a link in the workspace', async () => {
        using folder = new TemporaryFolder()
        folder.write('work/real/in.txt', 'of the workspace')
        folder.write('private/in.txt', 'of somebody else')
        symlinkSync('real', folder.at('work/inside'))
        symlinkSync(folder.at('private'), folder.at('work/outside'))
        for (const [path, target] of [
          ['inside', 'work/real'],
          ['outside', 'private'],
        ] as const)
          expect(await attempt(folder, [`fs.read:${path}`], 'return 1')).toContain(
            `fs.read:${path} is granted, but the path goes through a link to ${folder.at(target)}; grant that path itself if you meant it`,
          )
      })

      test('a link in a writable folder does not give access to more files', async () => {
        using folder = new TemporaryFolder()
        folder.write('work/hooks/kept', 'as it was')
        folder.write('outside/out/in.txt', 'x')
        folder.write('outside/secret.txt', 'a secret')
        mkdirSync(folder.at('work/out/sub'), { recursive: true })
        const nested = ['fs.write:out', 'fs.write:out/sub']
        // If `out/sub` is a real folder, the grant for `out` includes `out/sub`.
        const body = "fs.writeFileSync('out/sub/new', 'x'); return fs.readdirSync('out/sub').join()"
        expect(await attempt(folder, ['fs.read', ...nested], body)).toBe('new')
        folder.remove('work/out/sub')
        symlinkSync('../hooks', folder.at('work/out/sub'))
        expect(await attempt(folder, nested, "fs.writeFileSync('out/sub/evil', 'x')")).toContain(
          'the path goes through a link to',
        )
        symlinkSync('../secret.txt', folder.at('outside/out/link'))
        const elsewhere = [`fs.write:${folder.at('outside/out')}`, `fs.read:${folder.at('outside/out/link')}`]
        expect(await attempt(folder, elsewhere, 'return 1')).toContain('the path goes through a link to')
        // A grant is also refused if its path reaches the same folder through a link.
        mkdirSync(folder.at('outside/out/sub'))
        symlinkSync(folder.at('outside'), folder.at('alias'))
        const alias = [`fs.write:${folder.at('outside/out')}`, `fs.write:${folder.at('alias/out/sub')}`]
        expect(await attempt(folder, alias, 'return 1')).toContain('the path goes through a link to')
        expect(readdirSync(folder.at('work/hooks'))).toEqual(['kept'])
      })

      test('a write capability never includes files that control git, agents or editors', async () => {
        for (const name of [
          '.git/hooks/pre-commit',
          '.claude/settings.json',
          'deep/down/.agents/skills/x/SKILL.md',
          '.Cursor/rules',
          'AGENTS.md',
        ]) {
          using folder = new TemporaryFolder()
          folder.write(`work/${name}`, 'as it was')
          const target = JSON.stringify(folder.at('work', name))
          const body = `fs.writeFileSync(${target}, 'evil')`
          expect(await attempt(folder, ['fs.write'], body)).toContain('no script may write to')
          expect(await attempt(folder, [`fs.write:${name}`], body)).toContain('no script may write to')
          expect(readFileSync(folder.at('work', name), 'utf8')).toBe('as it was')
        }
        using folder = new TemporaryFolder()
        for (const path of ['~', '~/.claude/skills', homedir()])
          expect(await attempt(folder, [`fs.write:${path}`], 'return 1')).toContain('no script may write to')
      })

      test('a granted folder does not include its hidden paths', async () => {
        using folder = new TemporaryFolder()
        folder.write('work/in.txt', 'in')
        folder.write('work/state/run/1.json', 'the token')
        folder.write('work/trust.json', 'whom to trust')
        const hiddenPaths = [folder.at('work/state'), folder.at('work/trust.json'), folder.at('work/missing')]
        const read = `const read = path => { try { return fs.readFileSync(path, 'utf8') } catch (error) { return error.code } }
          return [read('in.txt'), read('state/run/1.json'), read('trust.json')].join()`
        const outcome = await attempt(folder, ['fs.read'], read, { hiddenPaths })
        if (sandbox === 'require') expect(outcome).toBe('in,ENOENT,ENOENT')
        else expect(outcome).toContain(`${folder.at('work/state')} in it can only be hidden by a sandbox`)
        for (const word of [
          'fs.read:state',
          'fs.read:state/run/1.json',
          'fs.read:trust.json',
          'fs.write:state/run',
        ])
          expect(await attempt(folder, [word], read, { hiddenPaths })).toMatch(
            /no script may (?:see|write to)/,
          )
        // Paths next to hidden paths stay readable.
        folder.write('work/docs/in.txt', 'docs')
        const docs = `return fs.readFileSync(${JSON.stringify(folder.at('work/docs/in.txt'))}, 'utf8')`
        expect(await attempt(folder, ['fs.read:docs'], docs, { hiddenPaths })).toBe('docs')
      })

      test('a grant is refused if scripts of another skill can redirect its path', async () => {
        using folder = new TemporaryFolder()
        mkdirSync(folder.at('work/out/sub'), { recursive: true })
        writeSkill(folder, 'fs.write:out', 'return 1', 'skills/other')
        write(folder, 'fs.read:out/sub', 'return 1')
        await using skills = await open(folder, ['fs.read:out/sub'])
        expect(await run(skills)).toBe(1)
        await skills.review.grant('other', ['fs.write:out'])
        expect((await skills.scripts.execute('other.go', {})).value).toBe(1)
        await expect(run(skills)).rejects.toMatchObject({
          code: 'SCRIPT_REFUSED',
          message: expect.stringContaining('fs.write:out lets the skill "other" replace this path'),
        })
        await skills.review.revoke('other', ['fs.write:out'])
        await expect.poll(() => run(skills).catch(String)).toBe(1)
      })

      test('a command that creates a file that controls git or agents fails, and the file is moved aside', async () => {
        for (const [name, path] of [
          ['.git', '.git/hooks/x'],
          ['.claude', 'deep/.claude/x'],
          ['CLAUDE.md', 'CLAUDE.md'],
        ] as const) {
          using folder = new TemporaryFolder()
          mkdirSync(folder.at('work/out'), { recursive: true })
          const words = ['fs.write:out']
          write(
            folder,
            words.join(' '),
            `const fs = await import('node:fs'); const { dirname } = await import('node:path')
             if (input.path) { fs.mkdirSync(dirname(input.path), { recursive: true }); fs.writeFileSync(input.path, 'x') }
             return 'done'`,
          )
          await using skills = await open(folder, words)
          expect(await run(skills)).toBe('done')
          const [left = ''] = path.split(`/${name}`)
          const named = folder.at('work/out', left === path ? name : `${left}/${name}`)
          await expect(run(skills, { path: folder.at('work/out', path) })).rejects.toMatchObject({
            code: 'SCRIPT_REFUSED',
            message: expect.stringContaining(`in a granted folder: ${named}; it was moved to`),
          })
          expect(existsSync(named)).toBe(false)
          expect(await run(skills)).toBe('done')
        }
      })

      test('a script that creates a file that controls git or agents fails', async () => {
        using folder = new TemporaryFolder()
        mkdirSync(folder.at('work/out'), { recursive: true })
        write(folder, 'fs.write:out', 'return 1')
        folder.write(
          'skills/deploy/scripts/make.mjs',
          "import { mkdirSync } from 'node:fs'\nmkdirSync(process.argv[2], { recursive: true })\n",
        )
        await using skills = await open(folder, ['fs.write:out'])
        const make = (path: string): Promise<unknown> =>
          skills.scripts.run('deploy', 'scripts/make.mjs', [folder.at(path)])
        expect(await make('work/out/fine')).toMatchObject({ exitCode: 0 })
        await expect(make('work/out/.git')).rejects.toMatchObject({
          code: 'SCRIPT_REFUSED',
          message: expect.stringContaining(`${folder.at('work/out/.git')}; it was moved to`),
        })
        expect(await make('work/out/fine')).toMatchObject({ exitCode: 0 })
      })

      test('a script cannot move a link so that its target changes', async () => {
        using folder = new TemporaryFolder()
        folder.write('work/x', 'as it was')
        folder.write('work/out/x', 'mine')
        mkdirSync(folder.at('work/out/a/b'), { recursive: true })
        symlinkSync('../../x', folder.at('work/out/a/b/link'))
        const out = JSON.stringify(folder.at('work/out'))
        const move = `fs.renameSync(${out} + '/a/b', ${out} + '/b'); fs.writeFileSync(${out} + '/b/link', 'changed')`
        const outcome = await attempt(folder, ['fs.write:out'], move)
        if (sandbox === 'off') expect(outcome).toContain('without a sandbox scripts could move')
        expect(readFileSync(folder.at('work/x'), 'utf8')).toBe('as it was')
      })

      test('granted paths are checked again before each call', async () => {
        using folder = new TemporaryFolder()
        mkdirSync(folder.at('work/out'), { recursive: true })
        folder.write('work/hooks/kept', 'as it was')
        folder.write('work/docs/in.txt', 'first')
        folder.write('secret.txt', 'a secret')
        const words = ['fs.write:out', 'fs.read:docs']
        write(
          folder,
          words.join(' '),
          `const fs = await import('node:fs')
           fs.writeFileSync(input.work + '/out/kept', 'written')
           return fs.readFileSync(input.work + '/docs/in.txt', 'utf8')`,
        )
        await using skills = await open(folder, words)
        const call = async (): Promise<unknown> =>
          await run(skills, { work: folder.at('work') }).catch((thrown: unknown) => String(thrown))
        expect(await call()).toBe('first')
        // The grant also applies to a new folder with the same name.
        renameSync(folder.at('work/docs'), folder.at('work/old'))
        folder.write('work/docs/in.txt', 'second')
        expect(await call()).toBe('second')
        folder.remove('work/docs/in.txt')
        symlinkSync(folder.at('secret.txt'), folder.at('work/docs/in.txt'))
        expect(await call()).toContain(sandbox === 'off' ? 'would give access to' : 'ENOENT')
        folder.remove('work/out')
        symlinkSync('hooks', folder.at('work/out'))
        expect(await call()).toContain('the path goes through a link to')
        expect(readFileSync(folder.at('work/hooks/kept'), 'utf8')).toBe('as it was')
      })

      test('access to a granted folder is not widened by a link that leaves the folder or by a star in the path', async () => {
        using folder = new TemporaryFolder()
        folder.write('outside/secret.txt', 'a secret')
        folder.write('work/docs/deep/in.txt', 'in')
        folder.write('work/stars/in.txt', 'another secret')
        symlinkSync('in.txt', folder.at('work/docs/deep/inside'))
        const read = (path: string): string =>
          `return fs.readFileSync(${JSON.stringify(folder.at(path))}, 'utf8')`
        expect(await attempt(folder, ['fs.read:docs'], read('work/docs/deep/inside'))).toBe('in')
        symlinkSync(folder.at('outside'), folder.at('work/docs/deep/out'))
        const outcome = await attempt(folder, ['fs.read:docs'], read('work/docs/deep/out/secret.txt'))
        expect(outcome).not.toContain('a secret')
        expect(outcome).toContain(
          sandbox === 'off' ? `${folder.at('work/docs/deep/out')} would give access to` : 'ENOENT',
        )
        const star = await attempt(folder, ['fs.read:s*'], read('work/stars/in.txt'))
        expect(star).not.toContain('another secret')
        expect(star).toContain(sandbox === 'off' ? '"*" in a path' : 'ENOENT')
      })

      test('protected paths, their parents and their contents can never be written', async () => {
        using folder = new TemporaryFolder()
        folder.write('work/state/decisions', 'as they were')
        write(folder, 'fs.write', "(await import('node:fs')).writeFileSync('out.txt', 'x')")
        await using skills = await openScripts(folder.at('skills'), {
          sandbox,
          workspace: folder.at('work'),
          protectedPaths: [folder.at('work/state'), folder.at('work/not/there/yet')],
        })
        for (const word of ['fs.write', 'fs.write:state/below', 'fs.write:not']) {
          write(folder, word, "(await import('node:fs')).writeFileSync('out.txt', 'x')")
          await skills.review.grant('deploy', [word])
          const outcome = await run(skills).catch((thrown: unknown) => String(thrown))
          expect(outcome).toContain('no script may write to')
          await skills.review.revoke('deploy', [word])
        }
        expect(existsSync(folder.at('work/out.txt'))).toBe(false)
      })

      test('a path that is a link can be granted, even several times', async () => {
        using folder = new TemporaryFolder()
        folder.write('real/out/in.txt', 'x')
        symlinkSync(folder.at('real'), folder.at('work'))
        const words = ['fs.read', 'fs.write', 'fs.write:out']
        write(
          folder,
          words.join(' '),
          `const fs = await import('node:fs')
           fs.writeFileSync(input.work + '/new.txt', 'new')
           return [fs.readFileSync(input.work + '/out/in.txt', 'utf8'), fs.readFileSync('new.txt', 'utf8')]`,
        )
        await using skills = await open(folder, words)
        expect(await run(skills, { work: folder.at('work') })).toEqual(['x', 'new'])
      })

      test('net gives access to the network', async () => {
        using folder = new TemporaryFolder()
        const server = createServer((_, response) => response.end('answered')).listen(0, '127.0.0.1')
        write(folder, 'net', 'return await (await fetch(input.url)).text()')
        await using skills = await open(folder, ['net'])
        const { port } = server.address() as AddressInfo
        expect(await run(skills, { url: `http://127.0.0.1:${port}/` })).toBe('answered')
        server.close()
      })

      test('exec allows starting programs', async () => {
        using folder = new TemporaryFolder()
        write(
          folder,
          'exec',
          "return (await import('node:child_process')).execFileSync('/bin/echo', ['hello'], { encoding: 'utf8' })",
        )
        await using skills = await open(folder, ['exec'])
        expect(await run(skills)).toBe('hello\n')
      })

      test('env capabilities pass only the named variables', async () => {
        using folder = new TemporaryFolder()
        write(folder, 'env:ONE env:UNSET', 'return Object.keys(process.env).sort().join()')
        await using skills = await open(folder, ['env:ONE', 'env:UNSET', 'env:TWO'], {
          ONE: 'first',
          TWO: 'second',
        })
        expect(String(await run(skills)).split(',')).toEqual(
          expect.arrayContaining(['HOME', 'LANG', 'ONE', 'PATH', 'TMPDIR']),
        )
        expect(String(await run(skills))).not.toMatch(/TWO|UNSET/)
      })
    })
  }
})

describe.skipIf(!HAS_BUBBLEWRAP)('a sandbox', () => {
  test('a hidden path stays hidden from a running process, even if the path is replaced, moved or created', async () => {
    using folder = new TemporaryFolder()
    folder.write('work/docs/in.txt', 'x')
    folder.write('work/trust.json', 'the first token')
    folder.write('work/deep/state/run/1.json', 'the second token')
    folder.write('work/deep/beside', 'beside')
    writeSkill(
      folder,
      'fs.read',
      `const fs = await import('node:fs')
       const read = path => { try { return fs.readFileSync(path, 'utf8') } catch (error) { return error.code } }
       const look = () => ['trust.json', 'deep/state/run/1.json', 'later.json', 'deep/beside', 'new'].map(read).join()
       const first = look()
       context.log('looked')
       while (!input.once && !fs.existsSync('docs/go')) await new Promise(resolve => setTimeout(resolve, 5))
       return [first, look()]`,
      'skills/deploy',
    )
    await using skills = await openScripts(folder.at('skills'), {
      sandbox: 'require',
      workspace: folder.at('work'),
      hiddenPaths: ['trust.json', 'deep/state', 'later.json', 'not/there'].map(path =>
        folder.at('work', path),
      ),
    })
    await skills.review.grant('deploy', ['fs.read'])
    const looked = Promise.withResolvers<void>()
    const call = skills.scripts.execute('deploy.go', {}, { onLine: () => looked.resolve() })
    await Promise.race([looked.promise, call])
    folder.write('work/trust.json.new', 'the first token')
    renameSync(folder.at('work/trust.json.new'), folder.at('work/trust.json'))
    folder.remove('work/deep/state')
    folder.write('work/deep/state/run/1.json', 'the second token')
    folder.write('work/later.json', 'the third token')
    folder.write('work/not/there', 'the fourth token')
    folder.write('work/new', 'new')
    folder.write('work/docs/go', '')
    const seen = 'ENOENT,ENOENT,ENOENT,beside'
    expect((await call).value).toEqual([`${seen},ENOENT`, `${seen},ENOENT`])
    // New files next to hidden paths are visible in the next call.
    expect(await run(skills, { once: true })).toEqual([`${seen},new`, `${seen},new`])
  })

  test('a folder that is too large to check completely cannot be written', async () => {
    using folder = new TemporaryFolder()
    mkdirSync(folder.at('work'))
    for (let at = 0; at < 101; at++) {
      const first = folder.write(`work/out/${at}/0`, '')
      // Create hard links instead of files, because links are faster to create and also count towards the limit.
      for (let file = 1; file < 1_000; file++) linkSync(first, folder.at(`work/out/${at}/${file}`))
    }
    folder.write('work/out/z/deep/.git/hooks/pre-commit', 'as it was')
    writeSkill(folder, 'fs.write:out', 'return 1', 'skills/deploy')
    await using skills = await openScripts(folder.at('skills'), {
      sandbox: 'require',
      workspace: folder.at('work'),
    })
    await skills.review.grant('deploy', ['fs.write:out'])
    await expect(run(skills)).rejects.toThrow('it has more than 100,000 entries')
  }, 180_000)
})

test(`a granted secret appears in no output of the script: result, error, lines, progress, events, logs`, async () => {
  using folder = new TemporaryFolder()
  const secret = 'tok-5ecr3t/with+odd=letters'
  const key = '-----BEGIN KEY-----\nfirst-line-of-key\nsecond-line-of-key\n-----END KEY-----'
  writeSkill(
    folder,
    'env:TOKEN env:KEY',
    `const { TOKEN, KEY } = process.env
     console.log('out ' + TOKEN); console.error(KEY); context.log('log ' + TOKEN); context.progress(1, 2, 'at ' + TOKEN)
     if (input.fail) throw new Error('failed with ' + TOKEN)
     return { token: TOKEN, [TOKEN]: [Buffer.from(TOKEN).toString('base64'), Buffer.from(TOKEN).toString('hex'), encodeURIComponent(TOKEN), JSON.stringify({ KEY })], length: TOKEN.length }`,
  )
  const seen: unknown[] = []
  const write = (...parts: unknown[]): void => void seen.push(parts)
  const logger = { debug: write, info: write, warn: write, error: write }
  await using skills = await openScripts(folder.path, {
    env: { ...process.env, TOKEN: secret, KEY: key },
    runtime: { logger },
  })
  await skills.review.grant('deploy', ['env:TOKEN', 'env:KEY'])
  for (const name of ['command:started', 'command:progress', 'command:line', 'command:finished'] as const)
    skills.events.on(name, payload => void seen.push(payload))
  const value = await run(skills)
  seen.push(value)
  await run(skills, { fail: true }).catch((error: unknown) => {
    const { message, data } = error as { message: string; data: unknown }
    seen.push(message, data)
  })
  expect(value).toMatchObject({ token: '[redacted TOKEN]', length: secret.length })
  const text = JSON.stringify(seen)
  expect(text).toContain('out [redacted TOKEN]')
  for (const part of [
    secret,
    'first-line-of-key',
    Buffer.from(secret).toString('base64'),
    Buffer.from(secret).toString('hex'),
  ])
    expect(text).not.toContain(part)
})

test('a command whose name contains a secret is refused without showing the secret', async () => {
  using folder = new TemporaryFolder()
  folder.write(
    'deploy/SKILL.md',
    '---\nname: deploy\ndescription: Deploys.\nmetadata:\n  capabilities: env:TOKEN\n---\nDeploys.\n',
  )
  folder.write('deploy/scripts/go.js', commandText('go', 'return 1').replace("'go'", 'process.env.TOKEN'))
  await using skills = await openScripts(folder.path, { env: { ...process.env, TOKEN: 'supersecret' } })
  await skills.review.grant('deploy', ['env:TOKEN'])
  const error: unknown = await run(skills).catch((thrown: unknown) => thrown)
  const told = JSON.stringify([
    String(error),
    skills.scripts.list(),
    skills.scripts.status(),
    skills.current.reports(),
  ])
  expect(told).toContain('[redacted TOKEN]')
  expect(told).not.toContain('supersecret')
})
