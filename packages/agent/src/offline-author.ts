import { TOOL_NAMES } from '@skillstoke/core/internal'

/**
 * A plan of the offline model for writing a skill. Contains the tool calls in order, and the answer after the last
 * call.
 */
export interface AuthoringPlan {
  readonly calls: readonly { readonly tool: string; readonly input: unknown }[]
  readonly confirmation: string
}

const REQUEST =
  /\bcreate (?:a|the) skill (?:called |named )?["']?([a-z0-9-]+)["']?[:,.]\s*(.+?)(?:\s*\bfor example[:,]?\s*(.+))?$/is

/**
 * Returns a simple plan for the steps of the skill `creating-skills`: write files, write `SKILL.md`, reload. Returns
 * `undefined` if the question does not ask for a new skill, or if the tools cannot write skills.
 */
export function planAuthoring(question: string, tools: readonly string[]): AuthoringPlan | undefined {
  const [, name, rule, example] = REQUEST.exec(question.trim()) ?? []
  if (name === undefined || rule === undefined || !tools.includes(TOOL_NAMES.writeFile)) return undefined
  const write = (relative_path: string, content: string): { tool: string; input: unknown } => ({
    tool: TOOL_NAMES.writeFile,
    input: { skill_name: name, relative_path, content },
  })
  const words = name.replaceAll('-', ' ')
  const pointer = example === undefined ? [] : ['See `examples.md` for an example.']
  const body = [rule.trim(), ...pointer].join('\n\n')
  const description = JSON.stringify(`Use when ${words} is asked for.`)
  return {
    calls: [
      ...(example === undefined ? [] : [write('examples.md', `${example.trim()}\n`)]),
      write('SKILL.md', `---\nname: ${name}\ndescription: ${description}\n---\n${body}\n`),
      { tool: TOOL_NAMES.reloadSkills, input: {} },
    ],
    confirmation: `The skill ${name} is live. It has SKILL.md${example === undefined ? '' : ' and examples.md'}; ask for ${words} to try it.`,
  }
}
