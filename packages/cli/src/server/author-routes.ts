import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { SkillReport } from '@skillstoke/core'
import { findMeant, MAX_LOOK_MS, quote } from '@skillstoke/core/internal'
import { Hono } from 'hono'
import { z } from 'zod'
import { checkReport } from '../check/check-report.ts'
import { isLinked, writeFixes } from '../check/fix-files.ts'
import { toSetting } from '../check/skill-findings.ts'
import type { Config } from '../config/config.ts'
import { findLinkTarget } from '../config/real-path.ts'
import { projectFolder, readLock } from '../lock/lock-file.ts'
import { moveBack, moveToTrash } from '../lock/trash.ts'
import { writeNewSkill } from '../skills/new-skill.ts'
import { isInRoot } from '../skills/open-skills.ts'
import type { ApiOptions } from './api.ts'
import { fail } from './api-failure.ts'
import { body, reply } from './api-route.ts'
import { openInEditor } from './open-in-editor.ts'
import { skillName } from './review-routes.ts'

/** Longest SKILL.md that the page edits, in characters. */
const MAX_TEXT = 1_000_000
const text = z.string().max(MAX_TEXT)
const MARK = '\uFEFF'
const newSkill = z.strictObject({ name: z.string().max(100), description: z.string().max(2_000) })
const place = z.strictObject({ skill: skillName, line: z.number().int().min(1) })

/** The routes whose bodies contain the text of a skill. */
export const LARGE_BODIES: readonly string[] = ['/api/check', '/api/save', '/api/v1/chat/completions']
/** UTF-8 needs at most three bytes for a character, and a save sends two texts. */
export const MAX_LARGE_BODY: number = 6 * MAX_TEXT + 10_000

/** Creates the routes with which an author changes the skills in the own folders. */
export function createAuthorRoutes({ answering, state, config }: ApiOptions) {
  const { skills } = answering
  /** The folders that were removed since the start, by their place in the trash. */
  const removed = new Map<string, string>()

  const find = async (name: string): Promise<SkillReport> => {
    const generation = await skills.fresh({ maxWaitMs: MAX_LOOK_MS })
    return (
      findMeant(name, generation, skills)?.report ??
      fail(404, 'NOT_FOUND', `there is no skill ${quote(name)}`)
    )
  }
  /** Finds a folder that belongs to the person who started the server. */
  const findOwn = async (name: string): Promise<SkillReport & { readonly directory: string }> => {
    const report = await find(name)
    const { directory } = report
    if (directory === undefined || !isInRoot(report, skills))
      return fail(409, 'READ_ONLY', `the folder of ${quote(name)} is in none of your roots`)
    const target = findLinkTarget(directory)
    if (target !== undefined) fail(409, 'READ_ONLY', `${directory} is a link to ${target}; change it there`)
    return { ...report, directory }
  }

  return new Hono()
    .post('/check', body(z.strictObject({ skill: skillName, text })), async context => {
      const { skill, text } = context.req.valid('json')
      const findings = await checkReport(await find(skill), { ...toSetting(skills, config), text })
      return reply(context, { findings })
    })
    .post('/save', body(z.strictObject({ skill: skillName, before: text, text })), async context => {
      const { skill, before, text: after } = context.req.valid('json')
      const { directory } = await findOwn(skill)
      const path = findSkillFile(directory)
      if (isLinked(path)) fail(409, 'READ_ONLY', `${path} is a link; change its target`)
      // The page does not see the byte order mark of a file.
      const mark = readFileSync(path, 'utf8').startsWith(MARK) && !before.startsWith(MARK) ? MARK : ''
      const written = writeFixes([{ path, before: mark + before, after: mark + after, count: 1 }], message =>
        fail(500, 'IO_FAILED', message),
      )
      if (written.length === 0)
        fail(409, 'CONFLICT', `${path} changed in the meantime; look at the newer text and save again`)
      return reply(context, state.toRow(await find(skill)))
    })
    .post('/new', body(newSkill), async context => {
      const wish = context.req.valid('json')
      const root = config.roots[0]?.path ?? fail(409, 'READ_ONLY', 'this server has no root of yours')
      const { folder } = writeNewSkill(root, wish)
      return reply(context, { folder, row: state.toRow(await find(wish.name)) })
    })
    .post('/remove', body(z.strictObject({ skill: skillName })), async context => {
      const { name, directory: folder } = await findOwn(context.req.valid('json').skill)
      if (config.roots.some(({ path }) => resolve(path) === resolve(folder)))
        fail(409, 'READ_ONLY', `${folder} is a root, and the folder above it is not yours; remove it there`)
      if (isAdded(folder, config))
        fail(409, 'READ_ONLY', `"stoke add" copied ${quote(name)}; to remove it, run "stoke remove ${name}"`)
      const trash = await moveToTrash(folder, config)
      removed.set(trash, folder)
      await skills.fresh({ maxWaitMs: MAX_LOOK_MS })
      return reply(context, { trash })
    })
    .post('/put-back', body(z.strictObject({ trash: z.string().max(4_096) })), async context => {
      const { trash } = context.req.valid('json')
      const folder =
        removed.get(trash) ?? fail(404, 'NOT_FOUND', `${quote(trash)} was not removed since the start`)
      await moveBack(trash, folder, config)
      removed.delete(trash)
      await skills.fresh({ maxWaitMs: MAX_LOOK_MS })
      return reply(context, { folder })
    })
    .post('/open', body(place), async context => {
      const { skill, line } = context.req.valid('json')
      const { directory = fail(409, 'READ_ONLY', `${quote(skill)} is in no folder of this machine`) } =
        await find(skill)
      const path = findSkillFile(directory)
      return reply(context, { path, editor: openInEditor(path, line) })
    })
}

/** Whether the lock file names a folder, so that only `stoke remove` removes it. */
function isAdded(folder: string, config: Config): boolean {
  const project = projectFolder(config)
  return Object.values(readLock(config)).some(({ path }) => resolve(project, path) === resolve(folder))
}

function findSkillFile(folder: string): string {
  const lower = join(folder, 'skill.md')
  return existsSync(lower) ? lower : join(folder, 'SKILL.md')
}
