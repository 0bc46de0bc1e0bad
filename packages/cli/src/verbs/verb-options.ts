import type { SandboxMode } from '@skillstoke/scripts'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { DEFAULT_SCRIPT_RUNNER_OPTIONS, SANDBOX_MODES } from '../config/known-values.ts'
import { describeSourceForms } from '../config/source-kinds.ts'

export function withSharedOptions(command: Command): Command {
  return withSourceOptions(command).option('--json', 'print JSON')
}

/** Adds the options that name sources. */
export function withSourceOptions(command: Command): Command {
  command.option('--source <place>', `${describeSourceForms({ isDetailed: true })}; repeatable`, collect)
  return withAccessOptions(withRootOptions(command))
    .option('--fleet <url>', 'server of a fleet to follow, for example nats://host:4222#canary')
    .option(
      '--trusted-key <key>',
      'public key whose signed versions of the fleet are accepted without approval; repeatable',
      collect,
    )
    .option(
      '--frozen',
      'hold every change for approval, until dev or mcp serves these folders without --frozen',
    )
    .option(
      '--link-root <dir>',
      'additional folder that links in the roots may point into; repeatable',
      collect,
    )
}

/** Adds the options that allow access to other machines and to secret files. */
export function withAccessOptions(command: Command): Command {
  return command
    .option(
      '--git-base-url <url>',
      'base URL for sources of the form owner/repo, for example the URL of your own GitHub server',
    )
    .option(
      '--private-host <host>',
      'host or host:port that sources may use in a private network or on this machine; repeatable',
      collect,
    )
    .option('--include-secrets', 'make files such as .env and private keys part of their skills')
}

/** Adds the options that name the folders of a project. */
export function withRootOptions(command: Command): Command {
  return command
    .option('--root <dir>', 'folder that contains skills; repeatable, replaces the default folders', collect)
    .option('--state <dir>', 'state directory (default: $XDG_STATE_HOME/skillstoke)')
    .option('--config <file>', 'configuration file (default: ./skillstoke.json if it exists)')
}

const SANDBOX_HELP: Readonly<Record<SandboxMode, string>> = {
  auto: 'run scripts in bubblewrap if it works',
  require: 'run no script without bubblewrap',
  off: 'rely only on the permissions of Node',
}

function describeSandboxMode(mode: SandboxMode): string {
  const isDefault = mode === DEFAULT_SCRIPT_RUNNER_OPTIONS.sandbox
  return `${mode}: ${SANDBOX_HELP[mode]}${isDefault ? ' (default)' : ''}`
}

/** Adds the option that chooses how scripts are confined. */
export function withSandboxOption(command: Command): Command {
  return command.addOption(
    new Option('--sandbox <mode>', SANDBOX_MODES.map(describeSandboxMode).join('; ')).choices(SANDBOX_MODES),
  )
}

/** Adds the options that limit which skills conversations and clients may see. */
export function withScopeOptions(command: Command): Command {
  return command
    .option(
      '--include <pattern>',
      'only show skills whose name matches the pattern; "*" matches any text; repeatable',
      collect,
    )
    .option('--exclude <pattern>', 'hide skills whose name matches the pattern; repeatable', collect)
}

export function collect(value: string, earlier: readonly string[] = []): string[] {
  if (value.trim() === '') throw new InvalidArgumentError('the value is empty')
  return [...earlier, value]
}

export function parseCount(value: string): number {
  const count = Number(value)
  if (!Number.isInteger(count) || count < 1)
    throw new InvalidArgumentError(`${JSON.stringify(value)} is not a whole number above 0`)
  return count
}

export function parseHost(value: string): string {
  if (value.trim() === '') throw new InvalidArgumentError('the value is empty')
  return value
}

export function parsePort(value: string): number {
  const port = Number(value)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new InvalidArgumentError(`${JSON.stringify(value)} is not a number from 0 to 65535`)
  return port
}
