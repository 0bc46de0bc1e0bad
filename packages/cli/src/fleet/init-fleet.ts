import { describePermissions, prepareFleet } from '@skillstoke/fleet'
import { EXIT_OK } from '../exit-code.ts'
import { formatTable, printJson, printLine } from '../output.ts'
import type { FleetVerbFlags } from '../verbs/fleet-verbs.ts'
import { withFleet } from './with-fleet.ts'

interface InitFlags extends FleetVerbFlags {
  readonly replicas?: number
  readonly newEpoch?: boolean
}

/** Implements `stoke fleet init`: creates or checks the streams, and prints the permissions to grant. */
export async function initFleet(flags: InitFlags): Promise<number> {
  return await withFleet(flags, async ({ fleet, signer }) => {
    const report = await prepareFleet(fleet, {
      isDryRun: flags.dryRun === true,
      isNewEpoch: flags.newEpoch === true,
      ...(flags.replicas === undefined ? {} : { replicas: flags.replicas }),
      ...(signer === undefined ? {} : { signer }),
    })
    const permissions = describePermissions(report.server)
    if (flags.json === true) {
      printJson({ ...report, permissions })
      return EXIT_OK
    }
    printLine(
      'Permissions to grant. <inbox> is the inbox prefix of a program, and <host> its host name with each dot as =2E.',
    )
    for (const { role, publish, subscribe } of permissions) {
      printLine(`\n${role}`)
      for (const subject of publish) printLine(`  publish    ${subject}`)
      for (const subject of subscribe) printLine(`  subscribe  ${subject}`)
    }
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
    if (flags.dryRun !== true) printLine('next: stoke fleet publish ./skills')
    return EXIT_OK
  })
}
