import { quote } from '../quote.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import type { SkillScripts } from '../script/skill-scripts.ts'
import { shortDigest } from '../skill/digest.ts'
import { normalizeName } from '../skill/skill-name.ts'
import { defineTool } from '../tool/define-tool.ts'
import { type ToolDefinition, type ToolResult, toolFailure, toolSuccess } from '../tool/tool-definition.ts'
import { TOOL_NAMES } from '../tool/tool-names.ts'
import type { SkillReloads } from './skill-reloads.ts'

/** Creates the tools `skill_reload` and `skill_unload`, with which a model reloads and unloads the code of a skill. */
export function createAdminTools(
  reader: SkillReader,
  reloads: SkillReloads,
  scripts: SkillScripts,
): readonly ToolDefinition[] {
  const define = (
    name: string,
    description: string,
    work: (skill: string, signal: AbortSignal | undefined) => Promise<ToolResult>,
  ): ToolDefinition =>
    defineTool({
      name,
      description,
      properties: { name: { type: 'string', description: 'Name of the skill.' } },
      needs: { name: 'git' },
      hints: { readOnly: false, destructive: false },
      async run(input, { signal }) {
        const wanted = normalizeName(input.name)
        return reader.isInScope(wanted)
          ? await work(wanted, signal)
          : toolFailure(`no skill ${quote(wanted)}`)
      },
    })
  return [
    define(
      TOOL_NAMES.reloadScripts,
      'Read a skill again and start its commands anew, although nothing seems to have changed. Clients are told to list the tools again.',
      (name, signal) => reload(name, signal, reloads, scripts),
    ),
    define(
      TOOL_NAMES.unloadScripts,
      'End the processes of a skill and take its commands away until it is reloaded.',
      name => unload(name, scripts),
    ),
  ]
}

async function reload(
  name: string,
  signal: AbortSignal | undefined,
  reloads: SkillReloads,
  scripts: SkillScripts,
): Promise<ToolResult> {
  const shown = quote(name)
  const { status, errors } = await reloads.reloadScripts(name, signal)
  switch (status) {
    case 'reloaded':
      return toolSuccess(`${shown} was reloaded; ${describeCommands(name, scripts)}`)
    case 'loaded':
      return toolSuccess(`${shown} was not loaded, and is now; ${describeCommands(name, scripts)}`)
    case 'not-found':
      return toolFailure(`there is no skill ${shown}`)
    case 'failed': {
      const reasons = errors.join('; ')
      return toolFailure(`${shown} could not be reloaded: ${reasons}; ${describeCommands(name, scripts)}`)
    }
    default:
      return status satisfies never
  }
}

async function unload(name: string, scripts: SkillScripts): Promise<ToolResult> {
  const shown = quote(name)
  const status = await scripts.unload(name)
  switch (status) {
    case 'unloaded':
      return toolSuccess(`${shown} was unloaded; its commands are back when it is reloaded`)
    case 'not-loaded':
      return toolFailure(`${shown} has no commands that could be unloaded`)
    case 'not-found':
      return toolFailure(`there is no skill ${shown}`)
    default:
      return status satisfies never
  }
}

function describeCommands(name: string, scripts: SkillScripts): string {
  const status = scripts.status().find(each => each.skill === name)
  if (status === undefined || status.commands.length === 0) return 'it has no commands'
  const at = status.revision === undefined ? '' : ` at ${shortDigest(status.revision)}`
  return `commands${at}: ${status.commands.map(command => command.name).join(', ')}`
}
