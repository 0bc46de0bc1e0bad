import { defined } from '@skillstoke/core/internal'
import {
  describePermissions,
  FleetStatus,
  type PublishReport,
  prepareFleet,
  writeAccounts,
} from '@skillstoke/fleet'
import type { Answer } from '../terminal/answer.ts'
import { EXIT_OK, UsageError } from '../terminal/exit-code.ts'
import { formatTable, toTerminalLine } from '../terminal/output.ts'
import { describeReport, describeUnfilled, exitOf } from './print-report.ts'
import { type FleetVerbFlags, type OpenFleet, withSigner } from './with-fleet.ts'

/** How many names a message has at most. */
const SHOWN = 5

export interface InitFlags extends FleetVerbFlags {
  readonly replicas?: number
  readonly newEpoch?: boolean
  readonly from?: string
}

/**
 * Implements `stoke fleet init`: creates or checks the streams, and prints the accounts to configure. With `--from`, also
 * fills a channel.
 */
export async function initFleet(flags: InitFlags): Promise<Answer> {
  const { from } = flags
  if (from !== undefined && (flags.dryRun === true || flags.newEpoch === true))
    throw new UsageError(
      `--from does not go together with ${flags.dryRun === true ? '--dry-run' : '--new-epoch'}`,
    )
  return await withSigner(flags, async open => {
    const { fleet, signer } = open
    const report = await prepareFleet(fleet, {
      isDryRun: flags.dryRun === true,
      isNewEpoch: flags.newEpoch === true,
      ...defined({ replicas: flags.replicas, signer }),
    })
    const publication = from === undefined ? undefined : await fill(from, open)
    const accounts = writeAccounts()
    const would = flags.dryRun === true ? 'would be ' : ''
    const steps = report.steps.map(({ part, outcome, detail = '' }) => [
      part,
      outcome === 'unchanged' ? outcome : `${would}${outcome}`,
      detail,
    ])
    return {
      json: { ...report, permissions: describePermissions(), accounts, ...defined({ publication }) },
      text: function* () {
        yield '# Accounts for the configuration of the servers. Add one user for each host of agents. Replace <administrator>,\n' +
          '# <publisher> and <agent> by public nkeys, and <host> by a host name with each dot as =2E. _INBOX_... is the inbox\n' +
          '# prefix of the user.'
        yield accounts
        yield `\nnats-server ${report.server} at ${fleet.address}`
        yield formatTable(steps)
        yield* report.warnings.map(warning => `warning: ${warning}`)
        if (publication !== undefined) {
          yield* describeReport(publication)
          if (!publication.isFilled) yield describeUnfilled(publication)
        } else if (flags.dryRun !== true) yield 'next: stoke fleet publish ./skills'
      },
      exit: publication === undefined ? EXIT_OK : exitOf(publication),
    }
  })
}

/** Publishes the skills of a folder, and says that the channel has all its skills. @throws {UsageError} */
async function fill(folder: string, { fleet, publisher, inChannel }: OpenFleet): Promise<PublishReport> {
  const rehearsal = await publisher.publish(folder, { ...inChannel, isDryRun: true })
  const named = new Set([...rehearsal.skills, ...rehearsal.refused].map(({ name }) => name))
  const { skills } = await new FleetStatus(fleet, inChannel).read()
  const others = skills.map(({ name }) => name).filter(name => !named.has(name))
  if (rehearsal.isFilled || others.length > 0)
    throw new UsageError(
      `the channel ${rehearsal.channel} ${rehearsal.isFilled ? 'is filled already' : `has other skills: ${toTerminalLine(others.slice(0, SHOWN).join(', '))}`}; to make it equal to the folder, run "stoke fleet publish DIR --mirror", which removes its other skills`,
    )
  return await publisher.publish(folder, { ...inChannel, isMirror: true })
}
