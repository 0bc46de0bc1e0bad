import { referenceAgentHarness } from './reference-agent.ts'
import { testHarness } from './test-harness.ts'

testHarness(referenceAgentHarness)
