import { dirname } from 'node:path'
import { type SkillFolder, serveLanguageServer } from '@skillstoke/author/lsp'
import { createSkillRuntime } from '@skillstoke/core'
import { directory, nodeHasher } from '@skillstoke/core/node'
import { readReported } from '../check/check-report.ts'
import type { Config } from '../config/config.ts'
import { readVersion } from '../config/version.ts'
import { countTokens } from '../skills/tokens.ts'
import { EXIT_OK } from '../terminal/exit-code.ts'
import type { CheckFlags } from './check.ts'

/** Implements `stoke lsp`: serves an editor over standard input and output until the editor ends the process. */
export function lsp(config: Config, { for: profiles = [] }: Pick<CheckFlags, 'for'>): number {
  serveLanguageServer({
    ...{ checks: { profiles, severities: config.checks, countTokens }, countTokens, version: readVersion() },
    openFolder: async (skillFile, onChange) => await openFolder(dirname(skillFile), config, onChange),
  })
  return EXIT_OK
}

/** Reads a skill as `stoke check` does, through a runtime that watches its folder. */
async function openFolder(folder: string, config: Config, onChange: () => void): Promise<SkillFolder> {
  // Links may lead to other skills beside this one, as in a root that has all of them. A new skill has no folder yet.
  const linkRoots = [dirname(folder), ...config.linkRoots]
  const skills = await createSkillRuntime({
    sources: [directory(folder, { linkRoots, onMissingRoot: () => undefined })],
    tuning: { hasher: nodeHasher },
  })
  skills.subscribe(onChange)
  return {
    read: async () => {
      const report = skills.current.reports().find(({ location }) => location === '')
      return report && (await readReported(report, { skills, scans: true }))
    },
    [Symbol.asyncDispose]: async () => await skills.close(),
  }
}
