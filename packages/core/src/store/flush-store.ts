import type { Logger } from '../host.ts'
import type { SkillStore } from './skill-store.ts'

/**
 * Waits until the store has written all content that was put. Logs a failure and continues, because the store retries.
 */
export async function flushStore(store: SkillStore, logger: Logger): Promise<void> {
  await store.flush().catch((error: unknown) => logger.error('the store could not be flushed', { error }))
}
