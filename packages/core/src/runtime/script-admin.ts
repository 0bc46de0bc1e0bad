import { quote } from '../quote.ts'
import type { ScriptAdmin } from '../script/script-tools.ts'
import type { SkillScripts } from '../script/skill-scripts.ts'
import { shortDigest } from '../skill/digest.ts'
import { toolFailure, toolSuccess } from '../tool/tool-definition.ts'
import type { SkillReloads } from './skill-reloads.ts'

/** Creates the functions that the tools `skill_reload` and `skill_unload` call. */
export function createScriptAdmin(reloads: SkillReloads, scripts: SkillScripts): ScriptAdmin {
  const describe = (name: string): string => {
    const status = scripts.status().find(each => each.skill === name)
    if (status === undefined || status.commands.length === 0) return 'it has no commands'
    const at = status.revision === undefined ? '' : ` at ${shortDigest(status.revision)}`
    return `commands${at}: ${status.commands.map(command => command.name).join(', ')}`
  }
  return {
    async reload(name, signal) {
      const shown = quote(name)
      const { status, errors } = await reloads.reloadScripts(name, signal)
      switch (status) {
        case 'reloaded':
          return toolSuccess(`${shown} was reloaded; ${describe(name)}`)
        case 'loaded':
          return toolSuccess(`${shown} was not loaded, and is now; ${describe(name)}`)
        case 'not-found':
          return toolFailure(`there is no skill ${shown}`)
        case 'failed':
          return toolFailure(`${shown} could not be reloaded: ${errors.join('; ')}; ${describe(name)}`)
        default:
          return status satisfies never
      }
    },
    async unload(name) {
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
    },
  }
}
