import type { ScriptAdmin } from '../script/script-tools.ts'
import type { SkillScripts } from '../script/skill-scripts.ts'
import { describePlace, isError } from '../skill/diagnostic.ts'
import { shortDigest } from '../skill/digest.ts'
import { toolFailure, toolSuccess } from '../tool/tool-definition.ts'
import type { SkillReload, SkillReloadStatus } from './reload-report.ts'

/** What reloading the code of one skill led to, in the words of `SkillReload`. */
export interface ScriptReload {
  readonly status: SkillReloadStatus
  /** What keeps the newest text or its code from serving. */
  readonly errors: readonly string[]
}

export interface ScriptAdminHost {
  readonly reloadSkill: (name: string) => Promise<SkillReload>
  readonly scripts: SkillScripts
}

/** Reads a skill again and starts its code anew, whether or not it changed. */
export async function reloadScripts(
  name: string,
  { reloadSkill, scripts }: ScriptAdminHost,
): Promise<ScriptReload> {
  const { status, errors, generation } = await reloadSkill(name)
  if (status === 'not-found' || generation.find(name) === undefined)
    return { status, errors: errors.map(({ message }) => message) }
  const { wasLoaded, problems } = await scripts.reload(name)
  const faults = problems.filter(({ severity }) => severity !== 'info')
  if (faults.length > 0) {
    const lines = faults.map(fault => {
      const { message, severity, fix } = fault
      const advice = severity === 'warning' && fix !== undefined ? ` (${fix})` : ''
      return `${describePlace(fault)} ${message}${advice}`.trim()
    })
    if (faults.some(isError) || scripts.list(name).length === 0) return { status: 'failed', errors: lines }
  }
  return { status: status === 'reloaded' && wasLoaded ? 'reloaded' : 'loaded', errors: [] }
}

/** The same as answers to a model. */
export function createScriptAdmin(host: ScriptAdminHost): ScriptAdmin {
  const { scripts } = host
  const describe = (name: string): string => {
    const status = scripts.status().find(each => each.skill === name)
    if (status === undefined || status.commands.length === 0) return 'it has no commands'
    const at = status.revision === undefined ? '' : ` at ${shortDigest(status.revision)}`
    return `commands${at}: ${status.commands.map(command => command.name).join(', ')}`
  }
  return {
    async reload(name) {
      const shown = JSON.stringify(name)
      const { status, errors } = await reloadScripts(name, host)
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
      const shown = JSON.stringify(name)
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
