import { examineFleet } from '@skillstoke/fleet'
import type { Answer } from '../terminal/answer.ts'
import { EXIT_FINDINGS, EXIT_OK } from '../terminal/exit-code.ts'
import { toTerminalLine } from '../terminal/output.ts'
import { ProgressLine } from './progress-line.ts'
import { type FleetVerbFlags, withFleet } from './with-fleet.ts'

/** Implements `stoke fleet doctor`: examines a fleet. Exits with 1 after an error. */
export async function doctor(flags: FleetVerbFlags): Promise<Answer> {
  return await withFleet(flags, async ({ fleet }) => {
    using line = new ProgressLine()
    const examination = await examineFleet(fleet, {
      onProgress: ({ done, total }) => line.show('files', done, total),
    })
    line.end()
    const { findings, serverVersion, servers, skills, pieces } = examination
    const hasErrors = findings.some(({ severity }) => severity === 'error')
    return {
      json: examination,
      text: () => [
        `nats-server ${serverVersion} at ${servers}; examined ${skills} skills and ${pieces} pieces of files`,
        ...findings.map(
          ({ severity, message, fix }) =>
            `${severity}: ${toTerminalLine(message)}${fix === undefined ? '' : `; ${fix}`}`,
        ),
        ...(hasErrors ? [] : ['no errors']),
      ],
      exit: hasErrors ? EXIT_FINDINGS : EXIT_OK,
    }
  })
}
