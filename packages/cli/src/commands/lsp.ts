import { dirname } from 'node:path'
import type { CheckOptions } from '@skillstoke/author'
import { type SkillFolders, serveLanguageServer } from '@skillstoke/author/lsp'
import { createSkillRuntime, type SkillRuntime } from '@skillstoke/core'
import { directory, nodeHasher } from '@skillstoke/core/node'
import { readReported } from '../check/check-report.ts'
import type { Config } from '../config/config.ts'
import { readVersion } from '../config/version.ts'
import { countTokens } from '../skills/tokens.ts'
import { EXIT_OK } from '../terminal/exit-code.ts'
import type { CheckFlags } from './check.ts'

/** Implements `stoke lsp`: serves an editor over standard input and output until the editor ends the process. */
export function lsp(config: Config, { for: profiles = [] }: Pick<CheckFlags, 'for'>): number {
  const options: CheckOptions = { profiles, severities: config.checks }
  serveLanguageServer({ ...options, countTokens, version: readVersion(), folders: openFolders(config) })
  return EXIT_OK
}

/** Reads skills as `stoke check` does, each through a runtime that watches its folder. */
function openFolders(config: Config): SkillFolders {
  const opened = new Map<string, Promise<SkillRuntime>>()
  return {
    load: async (skillFile, onChange) => {
      const opening = opened.get(skillFile) ?? openFolder(dirname(skillFile), config, onChange)
      opened.set(skillFile, opening)
      const skills = await opening
      const report = skills.current.reports().find(({ location }) => location === '')
      return report === undefined ? undefined : await readReported(report, { skills, scans: true })
    },
    close: skillFile => {
      void opened.get(skillFile)?.then(skills => skills.close())
      opened.delete(skillFile)
    },
  }
}

async function openFolder(folder: string, config: Config, onChange: () => void): Promise<SkillRuntime> {
  // Links may lead to other skills beside this one, as in a root that has all of them. A new skill has no folder yet.
  const linkRoots = [dirname(folder), ...config.linkRoots]
  const skills = await createSkillRuntime({
    sources: [directory(folder, { linkRoots, onMissingRoot: () => undefined })],
    tuning: { hasher: nodeHasher },
  })
  skills.subscribe(onChange)
  return skills
}
