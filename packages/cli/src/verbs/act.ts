import type { Config, ConfigFlags } from '../config/config.ts'
import type { Answer } from '../terminal/answer.ts'

type Result = number | Answer | Promise<number | Answer>
type Action = (...given: readonly unknown[]) => Promise<void>

/**
 * Returns the action of a verb. Loads its code and the configuration only when the verb runs, because help texts do not
 * need them. The verb gets the configuration, the flags as commander parsed them, and the words. Its result is the exit
 * code, or an answer to print.
 * @param prepare changes the flags before the configuration is resolved
 */
export function act(
  load: () => Promise<(config: Config, ...given: never[]) => Result>,
  prepare: (flags: ConfigFlags, first: unknown) => ConfigFlags = flags => flags,
): Action {
  return actAlone(async () => {
    const [verb, { resolveConfig }] = await Promise.all([load(), import('../config/config.ts')])
    return async (flags: ConfigFlags, ...words: never[]) =>
      await verb(await resolveConfig(prepare(flags, words[0])), flags as never, ...words)
  })
}

/** Like `act()`, for verbs about one skill. Reports a name that no skill has. */
export function actOn(
  load: () => Promise<(config: Config, flags: never, name: string, ...rest: never[]) => Promise<Answer>>,
): Action {
  return act(async () => (await import('../skills/report-missing.ts')).reportMissing(await load()))
}

/** Like `act()`, for verbs that use no skills of this project. */
export function actAlone(load: () => Promise<(...given: never[]) => Result>): Action {
  return async (...given) => {
    const verb = await load()
    // Commander appends the flags and the command to the words.
    const flags = given.at(-2) as { readonly json?: boolean }
    const result = await verb(...([flags, ...given.slice(0, -2)] as never[]))
    if (typeof result === 'number') process.exitCode = result
    else {
      const { printAnswer } = await import('../terminal/answer.ts')
      process.exitCode = await printAnswer(result, flags.json === true)
    }
  }
}

/** Adds the folders that are arguments to the roots. */
export function withFolders(flags: ConfigFlags, folders: unknown): ConfigFlags {
  return { ...flags, root: [...(folders as string[]), ...(flags.root ?? [])] }
}
