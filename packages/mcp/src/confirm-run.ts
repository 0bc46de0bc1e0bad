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
/** A longer input hides what it asks for. */
const MAX_SHOWN = 4_000

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
  // Since 2026-07-28, a client names its capabilities in the envelope of each request.
  const envelope = mcpReq.envelope as Partial<Record<string, ClientCapabilities>> | undefined
  const { elicitation } = mcp.server.getClientCapabilities() ?? envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? {}
  const isUrlOnly = elicitation?.url !== undefined && elicitation.form === undefined
  if (elicitation === undefined || isUrlOnly)
    return 'This server runs scripts only after a person agrees, and this client cannot ask a person (it has no elicitation). Tell the user.'
  const shown = showHiddenText(escapeControls(JSON.stringify(input ?? {}, null, 2)))
  if (shown.length > MAX_SHOWN)
    return `The input has ${shown.length} characters. A person has to agree to it, so use at most ${MAX_SHOWN}.`
  const answer = inputResponse(mcpReq.inputResponses, QUESTION)
  if (answer.kind === 'elicit')
    return answer.action === 'accept' ? undefined : 'The user declined this run of a script.'
  const message = `Run a script of a skill, with the tool ${tool}? Its input:\n${shown}`
  return inputRequired({
    inputRequests: {
      [QUESTION]: inputRequired.elicit({ message, requestedSchema: { type: 'object', properties: {} } }),
    },
  })
}
