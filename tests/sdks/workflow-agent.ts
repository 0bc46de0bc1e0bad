import { createOpenAI } from '@ai-sdk/openai'
import { WorkflowAgent, type WorkflowAgentOptions } from '@ai-sdk/workflow'
import { toAiTools } from '@skillstoke/adapters/ai-sdk'
import * as sdk from 'ai'
import { createHarness } from './ai-sdk.ts'
import type { Harness } from './harness.ts'

type Settings = WorkflowAgentOptions & Pick<Parameters<WorkflowAgent['stream']>[0], 'messages'>

/** Runs a turn of an agent, as the program of the page does. Rejects if a model call fails. */
async function run({ messages = [], prepareStep, ...options }: Settings): Promise<unknown> {
  const result = await new WorkflowAgent(options).stream({
    messages,
    // The agent passes its system text on as a message.
    prepareStep: step =>
      prepareStep?.({ ...step, messages: step.messages.filter(({ role }) => role !== 'system') }),
  })
  if ('error' in result) throw result.error
  return result
}

export const workflowAgentHarness: Harness = createHarness(
  '@ai-sdk/workflow 2.0',
  { ...sdk, generateText: run as unknown as typeof sdk.generateText },
  createOpenAI,
  // The agent waits for one result of a tool.
  session =>
    toAiTools(
      [...session.tools, ...session.commandTools()].map(tool => ({ ...tool, reportsProgress: false })),
    ),
)
