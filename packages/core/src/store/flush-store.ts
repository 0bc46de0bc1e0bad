import type { Logger } from '../host.ts'
import type { SkillStore } from './skill-store.ts'

/**
 * Waits until the store has written all content that was put. If the store reports a failure, logs it and continues,
 * because the store retries the write.
 */
export async function flushStore(store: SkillStore, logger: Logger): Promise<void> {
  await store.flush().catch((error: unknown) => logger.error('the store could not be flushed', { error }))
}
