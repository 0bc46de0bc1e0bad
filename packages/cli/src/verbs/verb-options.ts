import type { SandboxMode } from '@skillstoke/scripts'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Config, ConfigFlags } from '../config/config.ts'
import { describeSourceForms } from '../config/source-kinds.ts'
import { DEFAULT_SCRIPT_RUNNER_OPTIONS, SANDBOX_MODES } from '../known-values.ts'

export type SharedFlags = ConfigFlags & { readonly json?: boolean }

/** Says with which code the process ends. */
export type Finish = (code: number) => void

/** Resolves the configuration; the code for it is loaded only when a verb runs, because help does without. */
export async function resolveConfig(flags: ConfigFlags): Promise<Config> {
  const config = await import('../config/config.ts')
  return await config.resolveConfig(flags)
}

export function withSharedOptions(command: Command): Command {
  return withSourceOptions(command).option('--json', 'print JSON')
}

/** Where skills come from. */
export function withSourceOptions(command: Command): Command {
  command.option('--source <place>', `${describeSourceForms({ isDetailed: true })}; repeatable`, collect)
  return withAccessOptions(withRootOptions(command))
    .option('--frozen', 'let every change wait for approval, until dev or mcp serves the folders without it')
    .option('--link-root <dir>', 'a folder into which links of the roots may lead; repeatable', collect)
}

/** How other machines are reached. */
export function withAccessOptions(command: Command): Command {
  return command
    .option('--git-base-url <url>', 'where owner/repo is, for a GitHub of your own')
    .option(
      '--private-host <host>',
      'a host or host:port that may be in a private network or on this machine; repeatable',
      collect,
    )
}

/** The folders of a project. */
export function withRootOptions(command: Command): Command {
  return command
    .option('--root <dir>', 'a folder of skills; repeatable, replaces the default ones', collect)
    .option('--state <dir>', 'where state is kept (default: $XDG_STATE_HOME/skillstoke)')
    .option('--config <file>', 'a configuration (default: ./skillstoke.json when it is there)')
}

const SANDBOX_HELP: Readonly<Record<SandboxMode, string>> = {
  auto: 'scripts run in bubblewrap where it works',
  require: 'or not at all',
  off: 'only the permissions of Node contain them',
}

function describeSandboxMode(mode: SandboxMode): string {
  const isDefault = mode === DEFAULT_SCRIPT_RUNNER_OPTIONS.sandbox
  return `${mode}: ${SANDBOX_HELP[mode]}${isDefault ? ' (default)' : ''}`
}

/** What contains scripts. */
export function withSandboxOption(command: Command): Command {
  return command.addOption(
    new Option('--sandbox <mode>', SANDBOX_MODES.map(describeSandboxMode).join('; ')).choices(SANDBOX_MODES),
  )
}

/** What conversations and clients may see. */
export function withScopeOptions(command: Command): Command {
  return command
    .option('--include <pattern>', 'only skills whose name matches, "*" for anything; repeatable', collect)
    .option('--exclude <pattern>', 'no skills whose name matches; repeatable', collect)
}

export function collect(value: string, earlier: readonly string[] = []): string[] {
  if (value.trim() === '') throw new InvalidArgumentError('it is empty')
  return [...earlier, value]
}

export function parseCount(value: string): number {
  const count = Number(value)
  if (!Number.isInteger(count) || count < 1)
    throw new InvalidArgumentError(`${JSON.stringify(value)} is not a whole number above 0`)
  return count
}

export function parseHost(value: string): string {
  if (value.trim() === '') throw new InvalidArgumentError('it is empty')
  return value
}

export function parsePort(value: string): number {
  const port = Number(value)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new InvalidArgumentError(`${JSON.stringify(value)} is not a number from 0 to 65535`)
  return port
}
