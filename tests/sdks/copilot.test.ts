import { copilotAnthropicHarness, copilotHarness, copilotResponsesHarness } from './copilot.ts'
import { testHarness } from './test-harness.ts'

for (const each of [copilotAnthropicHarness, copilotResponsesHarness, copilotHarness]) testHarness(each)
