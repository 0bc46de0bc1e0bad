import { describePermissions, prepareFleet, writeAccounts } from '@skillstoke/fleet'
import { EXIT_OK, UsageError } from '../exit-code.ts'
import { formatTable, printJson, printLine } from '../output.ts'
import type { FleetVerbFlags } from '../verbs/fleet-verbs.ts'
import { printReport } from './print-report.ts'
import { withSigner } from './with-fleet.ts'

interface InitFlags extends FleetVerbFlags {
  readonly replicas?: number
  readonly newEpoch?: boolean
  readonly from?: string
}

/**
 * Implements `stoke fleet init`: creates or checks the streams, and prints the accounts to configure. With `--from`, also
 * fills a channel.
 */
export async function initFleet(flags: InitFlags): Promise<number> {
  const { from } = flags
  if (from !== undefined && flags.dryRun === true)
    throw new UsageError('--from does not go together with --dry-run')
  return await withSigner(flags, async ({ fleet, signer, publisher, inChannel }) => {
    const report = await prepareFleet(fleet, {
      isDryRun: flags.dryRun === true,
      isNewEpoch: flags.newEpoch === true,
      ...(flags.replicas === undefined ? {} : { replicas: flags.replicas }),
      ...(signer === undefined ? {} : { signer }),
    })
    const publication =
      from === undefined ? undefined : await publisher.publish(from, { ...inChannel, isMirror: true })
    const accounts = writeAccounts()
    if (flags.json === true) {
      const filled = publication === undefined ? {} : { publication }
      printJson({ ...report, permissions: describePermissions(), accounts, ...filled })
      return EXIT_OK
    }
    printLine(
      '# Accounts for the configuration of the servers. Add one user for each host of agents. Replace <administrator>,\n' +
        '# <publisher> and <agent> by public nkeys, and <host> by a host name with each dot as =2E. _INBOX_... is the inbox\n' +
        '# prefix of the user.',
    )
    printLine(accounts)
    printLine(`\nnats-server ${report.server} at ${fleet.address}`)
    const would = flags.dryRun === true ? 'would be ' : ''
    printLine(
      formatTable(
        report.steps.map(({ part, outcome, detail = '' }) => [
          part,
          outcome === 'unchanged' ? outcome : `${would}${outcome}`,
          detail,
        ]),
      ),
    )
    for (const warning of report.warnings) printLine(`warning: ${warning}`)
    if (publication !== undefined) return printReport(publication, {})
    if (flags.dryRun !== true) printLine('next: stoke fleet publish ./skills')
    return EXIT_OK
  })
}
