import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { showHiddenText } from '@skillstoke/core'
import { escapeControls } from '@skillstoke/core/internal'

const QUESTION = 'run'

/**
 * Asks the person at the client before a script runs. Returns the question, or the reason why the script does not
 * run, or `undefined` if the person agreed. The SDK brings the answer in a second call of the handler, also for 2025-era clients.
 */
export function confirmRun(
  mcp: McpServer,
  { mcpReq }: ServerContext,
  tool: string,
  input: unknown,
): InputRequiredResult | string | undefined {
  const answer = inputResponse(mcpReq.inputResponses, QUESTION)
  if (answer.kind === 'elicit')
    return answer.action === 'accept' ? undefined : 'The user declined this run of a script.'
  // Since 2026-07-28, a client names its capabilities in the envelope of each request.
  const envelope = mcpReq.envelope as Partial<Record<string, ClientCapabilities>> | undefined
  const { elicitation } = mcp.server.getClientCapabilities() ?? envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? {}
  if (elicitation === undefined)
    return 'This server runs scripts only after a person agrees, and this client cannot ask a person (it has no elicitation). Tell the user.'
  const shown = showHiddenText(escapeControls(JSON.stringify(input ?? {}, null, 2)))
  const message = `Run a script of a skill, with the tool ${tool}? Its input:\n${shown}`
  return inputRequired({
    inputRequests: {
      [QUESTION]: inputRequired.elicit({ message, requestedSchema: { type: 'object', properties: {} } }),
    },
  })
}
