import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import type { SkillTemplate } from '@skillstoke/author'
import { describeNewSkill } from '@skillstoke/author/internal'
import { defined } from '@skillstoke/core/internal'
import { AGENT_FOLDERS, type AgentId } from '../config/agent-folders.ts'
import type { Config } from '../config/config.ts'
import { findEditor } from '../config/editor.ts'
import { planNewSkill, writeNewSkill } from '../skills/new-skill.ts'
import type { Answer } from '../terminal/answer.ts'
import { askLine, askYes } from '../terminal/ask.ts'
import { toCommandLine } from '../terminal/command-line.ts'
import { UsageError } from '../terminal/exit-code.ts'
import { nearPath } from '../terminal/output.ts'
import { nameCommand } from '../terminal/program-name.ts'

interface NewFlags {
  readonly json?: boolean
  readonly what?: string
  readonly when?: string
  readonly template?: SkillTemplate
  readonly agent?: AgentId
}

/** Implements `stoke new`: writes a skill and a file for its tests into a new folder. */
export async function createSkill(config: Config, flags: NewFlags, name: string): Promise<Answer> {
  const root = flags.agent === undefined ? (config.roots[0]?.path ?? 'skills') : AGENT_FOLDERS[flags.agent]
  // Checks the name before the person answers questions.
  const folder = planNewSkill(root, name)
  const mayAsk = config.isInteractive && flags.json !== true
  const description = await findDescription(flags, mayAsk)
  const { paths } = writeNewSkill(root, { name, description, ...defined({ template: flags.template }) })
  if (mayAsk) await offerEditor(join(folder, 'SKILL.md'))
  const next = listNext(root, name, config)
  return {
    json: { name, description, path: folder, files: paths, next },
    text: () => [
      `created ${nearPath(folder)}: ${paths.toReversed().join(', ')}`,
      `next: ${next.join('\n      ')}`,
    ],
  }
}

async function findDescription({ what, when }: NewFlags, mayAsk: boolean): Promise<string> {
  const ask = async (question: string): Promise<string> => (mayAsk ? await askLine(`${question}\n> `) : '')
  const does = what ?? (await ask('What does it do? For example: Writes VAT reports.'))
  const hasOwn = /\buse when\s/i.test(does)
  const asked =
    when ?? (hasOwn ? '' : await ask('When should an agent use it? For example: somebody asks for VAT.'))
  if (does.trim() !== '' && (hasOwn || asked.trim() !== '')) return describeNewSkill(does, asked)
  throw new UsageError(
    `say what the skill does and when to use it, for example: --what "Writes VAT reports" --when "somebody asks for the VAT of a month"`,
  )
}

/** Opens the editor of the user after a question. */
async function offerEditor(path: string): Promise<void> {
  const editor = findEditor()
  if (editor === undefined || !(await askYes(`open SKILL.md in ${editor}?`))) return
  // An editor may have options, for example `code --wait`, so the shell reads its command.
  const { status } = spawnSync(`${editor} ${toCommandLine([path])}`, { shell: true, stdio: 'inherit' })
  if (status !== 0) process.stderr.write(`note: the editor ${JSON.stringify(editor)} failed\n`)
}

/** Returns the next commands. Outside of the roots, they name the folder. */
function listNext(root: string, name: string, { roots, options }: Config): readonly string[] {
  const isRoot = roots.some(({ path }) => resolve(path) === resolve(root))
  const check = ['check', ...(isRoot ? [name, ...options] : [join(root, name)])]
  const dev = ['dev', ...(isRoot ? options : [root])]
  return [check, dev].map(nameCommand)
}
