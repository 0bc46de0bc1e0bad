import { scriptRunnerConformance } from '@skillstoke/core/testing'
import { childProcesses } from '@skillstoke/scripts'
import { describe, test } from 'vitest'
import { HAS_BUBBLEWRAP } from '../fixtures/scripts.ts'

for (const sandbox of ['off', 'require'] as const) {
  describe.skipIf(sandbox === 'require' && !HAS_BUBBLEWRAP)(`child processes with sandbox ${sandbox}`, () => {
    test.each(scriptRunnerConformance)('$name', async each => {
      const runner = childProcesses({ sandbox })
      try {
        await each.check(runner)
      } finally {
        await runner.close()
      }
    })
  })
}
