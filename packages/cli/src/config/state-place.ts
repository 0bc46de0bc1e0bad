import { resolve } from 'node:path'
import { defaultStateDirectory } from './known-values.ts'

/** Returns the state directory of a command. */
export function findStateDirectory(
  flags: { readonly state?: string },
  variables: NodeJS.ProcessEnv = process.env,
): string {
  const environment = withoutEmpty(variables)
  return resolve(flags.state ?? environment['SKILLSTOKE_STATE'] ?? defaultStateDirectory(environment))
}

/** Removes empty environment variables, because an empty variable counts as unset. */
export function withoutEmpty(variables: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ''))
}
