import { assertSupported } from '../assert-supported.ts'
import { waitAtMost } from '../host.ts'
import { assembleRuntime, type RuntimeParts } from './assemble-runtime.ts'
import { SkillRuntime } from './skill-runtime.ts'
import type { SkillRuntimeOptions } from './skill-runtime-options.ts'

// Some commands are known only after their scripts have run. The start waits at most this long for these commands.
const MAX_CODE_WAIT_MS = 1_000

/**
 * Reads all sources and watches them until the runtime is closed. If a source cannot be read, the other sources are
 * served, and `status()` reports the failure. If the call fails, `state` and `scripts` of the options are closed.
 * @throws {SkillError} INVALID_OPTION; DUPLICATE_SOURCE when two sources have the same label; SOURCE_MISSING,
 * DUPLICATE_SKILL, SKILL_INVALID or HOOK_FAILED if the options turn these faults into errors; UNSUPPORTED_RUNTIME on an old
 * Node
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * console.log(skills.current.list().map(skill => skill.name)) // prints [ 'support-pdf' ]
 * ```
 */
export async function createSkillRuntime(options: SkillRuntimeOptions): Promise<SkillRuntime> {
  assertSupported()
  const parts = await assembleOrClose(options)
  const runtime = new SkillRuntime(parts)
  try {
    const { registry, sources, programs, scripts, changes, binder, reloads, clock } = parts
    let isStarted = false
    registry.subscribe(update => binder.syncTools(update), { phase: 'tools' })
    registry.subscribe(
      update => {
        const following = programs.follow(update)
        // During the start, there is no older code to replace, so no update waits for newly loaded code.
        return isStarted ? following : undefined
      },
      { phase: 'commands' },
    )
    registry.subscribe(update => binder.syncInstructions(update), { phase: 'instructions' })
    await changes.finishSwaps()
    await sources.start()
    // Wait for the events about the initial skills, so that handlers that are added later do not receive them.
    await waitAtMost(clock, MAX_CODE_WAIT_MS, Promise.all([registry.delivered(), scripts.ready()]))
    isStarted = true
    reloads.assertDemands()
  } catch (thrown) {
    await runtime.close().catch((error: unknown) => {
      parts.logger.error('a runtime that failed to start could not be closed', { error })
    })
    throw thrown
  }
  return runtime
}

/**
 * Assembles the runtime. If assembling fails, closes the parts that the host passed, because the runtime owns these
 * parts.
 */
async function assembleOrClose(options: SkillRuntimeOptions): Promise<RuntimeParts> {
  try {
    return assembleRuntime(options)
  } catch (thrown) {
    const { state, scripts } = (options ?? {}) as Partial<SkillRuntimeOptions>
    const given = [scripts, state?.decisions, state?.history, state?.writeLock, state?.store]
    // Ignore failures to close, so that the caller receives the original error.
    await Promise.allSettled(given.map(async part => await part?.close?.()))
    throw thrown
  }
}
