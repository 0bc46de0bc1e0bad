import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { SkillError } from '@skillstoke/core'
import fc from 'fast-check'
import { PAIR, ROOTS, type Root, type SkillWorld } from './skill-world.ts'

/** One event in a world. The expected result is derived from the disk, so no second model has to be maintained. */
export type WorldCommand = fc.AsyncCommand<Record<never, never>, SkillWorld>

const NAMES = ['ant', 'bee', 'cat'] as const
const FIXED_LENGTH = 4

const textOf = (name: string, number: number): string =>
  `---\nname: ${name}\ndescription: Number ${String(number).padStart(FIXED_LENGTH, '0')}.\n---\nBody of ${number}.\n`

/**
 * Changes the disk. Compares every view with the expected state before a change that breaks a skill, and after each
 * change while a skill is broken.
 */
function change(
  label: string,
  act: (world: SkillWorld) => void | Promise<void>,
  breaks = false,
): WorldCommand {
  return {
    check: () => true,
    toString: () => label,
    run: async (_, world) => {
      if (breaks) await world.settle()
      await act(world)
      if (breaks || (await world.hasBroken())) await world.settle()
    },
  }
}

/** Compares a view with the expected state. */
function look(label: string, act: (world: SkillWorld) => Promise<void>): WorldCommand {
  return { check: () => true, toString: () => label, run: (_, world) => act(world) }
}

function write(path: string, content: string): void {
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, content)
}

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined
const root = fc.constantFrom<Root>(...ROOTS)
const name = fc.constantFrom(...NAMES)
const place = fc.record({ root, name })

/** Returns every event that can happen, with its frequency. */
export function worldCommands(): fc.Arbitrary<WorldCommand>[] {
  return [
    place.map(({ root, name }) =>
      change(`write ${root}/${name}`, world =>
        write(world.pathOf(root, name, 'SKILL.md'), textOf(name, world.next())),
      ),
    ),
    place.map(({ root, name }) =>
      change(`add a file to ${root}/${name}`, world =>
        write(world.pathOf(root, name, 'scripts/run.sh'), `echo ${world.next()}\n`),
      ),
    ),
    place.map(({ root, name }) =>
      change(
        `break ${root}/${name}`,
        world =>
          write(
            world.pathOf(root, name, 'SKILL.md'),
            `---\nname: ${name}\ndescription: "${world.next()}\n---\n`,
          ),
        true,
      ),
    ),
    place.map(({ root, name }) =>
      change(`delete ${root}/${name}`, world =>
        rmSync(world.pathOf(root, name), { recursive: true, force: true }),
      ),
    ),
    fc.record({ root, from: name, to: name }).map(({ root, from, to }) =>
      change(`rename ${root}/${from} to ${to}`, world => {
        const [old, now] = [world.pathOf(root, from), world.pathOf(root, to)]
        if (!isThere(old) || isThere(now)) return
        renameSync(old, now)
        world.noteRenamed(root, from, to)
      }),
    ),
    place.map(({ root, name }) =>
      change(`link ${root}/link to ${name}`, world => {
        const link = world.pathOf(root, 'link')
        if (isThere(link)) unlinkSync(link)
        symlinkSync(name, link)
      }),
    ),
    fc.record({ place, mode: fc.constantFrom(0o755, 0o644) }).map(({ place: { root, name }, mode }) =>
      change(`chmod ${mode.toString(8)} ${root}/${name}`, world => {
        const path = world.pathOf(root, name, 'scripts/run.sh')
        if (existsSync(path)) chmodSync(path, mode)
      }),
    ),
    place.map(({ root, name }) =>
      change(`write ${root}/${name} with its old time and size`, world => {
        const path = world.pathOf(root, name, 'SKILL.md')
        if (!existsSync(path)) return
        const { atime, mtime } = statSync(path)
        write(path, textOf(name, world.next()))
        utimesSync(path, atime, mtime)
      }),
    ),
    root.map(root =>
      change(`swap ${root}`, world => {
        const [old, now] = [world.pathOf(root), join(world.base, `new-${world.next()}`)]
        write(join(now, 'ant', 'SKILL.md'), textOf('ant', world.next()))
        renameSync(old, join(world.base, `old-${world.next()}`))
        renameSync(now, old)
      }),
    ),
    root.map(root =>
      change(`write the pair in ${root}`, world => {
        const number = world.next()
        for (const name of PAIR) write(world.pathOf(root, name, 'SKILL.md'), textOf(name, number))
      }),
    ),
    name.map(name =>
      change(`two writers of ${name}`, async world => {
        const served = world.skills.current.find(name)
        const baseDigest = served?.files.find(({ path }) => path === 'SKILL.md')?.digest ?? 'none'
        const writes = [world.next(), world.next()].map(number =>
          world.skills
            .writer()
            .write({ skill: name, path: 'SKILL.md', content: textOf(name, number), baseDigest }),
        )
        const outcomes = await Promise.allSettled(writes)
        const written = outcomes.filter(({ status }) => status === 'fulfilled')
        if (written.length > 1) throw new Error('two writers with the same base digest have both written')
        for (const outcome of outcomes)
          if (outcome.status === 'rejected' && !SkillError.isInstance(outcome.reason)) throw outcome.reason
      }),
    ),
    name.map(name =>
      change(`put ${name} aside`, async world => {
        await world.skills
          .writer()
          .quarantine(name)
          .catch((thrown: unknown) => {
            if (!SkillError.isInstance(thrown)) throw thrown
          })
        const now = world.skills.current.find(name)
        // Another folder may have a skill of the same name, which is served now.
        if (now?.source === ROOTS[0] && !isThere(world.pathOf(ROOTS[0], now.location)))
          throw new Error('a skill that was put aside is still there')
      }),
    ),
    fc.boolean().map(loses =>
      look(loses ? 'lose all events' : 'have events again', async world => {
        world.loseEvents(loses)
        await world.skills.reload()
      }),
    ),
    fc.constant(look('settle', world => world.settle())),
    fc.constant(look('begin a step', world => world.beginStep())),
    fc.constant(look('end a step', world => world.endStep())),
  ]
}
