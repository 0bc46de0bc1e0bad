import { createSkillRuntime, type SkillRuntime, type SkillRuntimeOptions, toMessage } from '@skillstoke/core'
import { directory, nodeHasher, openPackStore } from '@skillstoke/core/node'
import type { Config } from './config/config.ts'

export interface OpenOptions {
  /** `off` reads once; `auto` follows changes. */
  readonly watching: 'auto' | 'off'
  readonly runtime?: Pick<SkillRuntimeOptions, 'catalog' | 'settle' | 'logger'>
}

/** The skills of the configured roots, with the store of the state directory. */
export async function openSkills(config: Config, options: OpenOptions): Promise<SkillRuntime> {
  const targets = config.roots.filter(root => root.isLinkTarget).map(root => root.path)
  const sources = config.roots.map(({ label, path }) =>
    // A link from one root into another is how one skill is shared; links to anywhere else are refused.
    directory(path, {
      label,
      watching: options.watching,
      reading: config.reading,
      linkRoots: [...targets.filter(other => other !== path), ...config.linkRoots],
    }),
  )
  const store = await openPackStore(config.stateDirectory).catch((error: unknown) => {
    process.stderr.write(`note: ${toMessage(error)}; the last good revisions will not outlive this process\n`)
    return undefined
  })
  return await createSkillRuntime({
    sources,
    hasher: nodeHasher,
    onDuplicate: config.onDuplicate,
    ...(store === undefined ? {} : { store }),
    ...options.runtime,
  })
}
