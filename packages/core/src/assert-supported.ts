import { SkillError } from './errors.ts'

/** The oldest Node version that has `Promise.withResolvers` and needs no flag for `node:sqlite`. */
const OLDEST_NODE = [22, 16] as const

/**
 * On an old Node, throws an error that names the needed version. Without this check, a missing API would fail with an
 * unclear error. Bun and Deno report the Node version that they are compatible with. Other JavaScript runtimes report
 * no Node version.
 * @throws {SkillError} UNSUPPORTED_RUNTIME
 */
export function assertSupported(host: object = globalThis): void {
  const { process } = host as { readonly process?: { readonly versions?: { readonly node?: string } } }
  const version = process?.versions?.node
  if (version === undefined) return
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor, oldestMinor] = OLDEST_NODE
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return
  throw new SkillError(
    'UNSUPPORTED_RUNTIME',
    `Skillstoke needs Node ${oldestMajor}.${oldestMinor} or newer, Bun or Deno; this is Node ${version}`,
  )
}
