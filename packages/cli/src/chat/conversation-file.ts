import { join } from 'node:path'
import type { Config } from '../config/config.ts'

/** Owner of the conversations. A state directory belongs to one person. */
export const CHAT_TENANT = 'local'

/** Returns the path of the database that stores the conversations of a state directory. */
export function findConversationFile({ stateDirectory }: Config): string {
  return join(stateDirectory, 'conversations.sqlite')
}
