import {
  type McpServer,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
} from '@modelcontextprotocol/server'
import { SKILLS_EXTENSION_ID, type SkillsExtension } from '@modelcontextprotocol/server/ext/skills'
import type { Digest, SkillReader, SkillRuntime, SkillSession } from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'
import type { ClientLoads } from './client-loads.ts'
import { type HostHandlers, listOfHost, passToHost, takeHostHandlers } from './host-handlers.ts'
import { limitErrors } from './limit-errors.ts'
import type { ResolvedMcpOptions } from './mcp-options.ts'
import { requireShort } from './message-faults.ts'
import type { RecentGenerations } from './recent-generations.ts'
import type { RequestTrace } from './request-trace.ts'
import type { RuntimeSkillSource } from './runtime-skill-source.ts'
import { clientOf, nameClient, serveTools } from './serve-tools.ts'
import type { ServedTools } from './served-tools.ts'
import { GENERATION_META_KEY, REVISION_META_KEY } from './skill-entry.ts'
import { type InvokeSkill, type SkillPrompts, toCompletion } from './skill-prompts.ts'

/** What all views of one server share. */
export interface SharedParts {
  readonly skills: SkillRuntime
  readonly options: ResolvedMcpOptions
  readonly recent: RecentGenerations
  readonly trace: RequestTrace
  /** Returns an unused session id. */
  readonly nextSessionId: () => string
  readonly warnOnce: (message: string) => void
}

/** What all server objects of one view share. */
export interface ViewParts extends SharedParts {
  readonly reader: SkillReader
  readonly prompts: SkillPrompts
  readonly source: RuntimeSkillSource
  readonly extension: SkillsExtension
}

/** Objects and settings of one server object. A server object has no other state. */
export interface AttachedParts extends ViewParts {
  readonly tools: ServedTools
  readonly invoke: InvokeSkill
  /**
   * The conversation of the client, if the connection is permanent. Tool answers also contain the notices of this
   * conversation.
   */
  readonly session?: SkillSession
  /** Whether the connection continues a conversation whose knowledge is lost. */
  readonly isContinued: boolean
  /** The list of skills with which the conversation began; empty without a conversation. */
  readonly catalog: string
  /** What clients have loaded, and who sent this request; absent if the client has a conversation. */
  readonly loads?: { readonly memory: ClientLoads; readonly owner: string }
}

/** The template of the addresses of all files. `path` may contain slashes. */
const URI_TEMPLATE = 'skill://{name}/{+path}'

/**
 * Adds tools, prompts, resources and the Skills extension to a server object, beside what its host registers. The server
 * object keeps no state, so it can be discarded at any time.
 * @param subscribed receives the URIs of 2025-era subscriptions
 * @throws {SkillError} INVALID_OPTION when the server has request handlers that cannot be found
 */
export function attachSkills(mcp: McpServer, parts: AttachedParts, subscribed: Set<string>): void {
  limitErrors(mcp)
  const host = takeHostHandlers(mcp)
  mcp.server.registerCapabilities({
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    completions: {},
  })
  parts.extension.attach(mcp)
  serveTools(mcp, parts, host)
  servePrompts(mcp, parts, host)
  serveResources(mcp, parts, host)
  serveCompletions(mcp, parts, host)
  serveSubscriptions(mcp, subscribed, host)
}

const PROMPTS = ['prompts/list', 'prompts'] as const
const RESOURCES = ['resources/list', 'resources'] as const
const TEMPLATES = ['resources/templates/list', 'resourceTemplates'] as const

function servePrompts(mcp: McpServer, parts: AttachedParts, host: HostHandlers): void {
  const { prompts, invoke, trace, loads } = parts
  mcp.server.setRequestHandler('prompts/list', async (request, context) => {
    const { generation, ...page } = await prompts.list(request.params?.cursor)
    const isFirst = request.params?.cursor === undefined
    const others = await listOfHost<Prompt>(host, PROMPTS, request, context)
    const hidden = new Set(others.map(({ name }) => name))
    return {
      ...page,
      prompts: [...(isFirst ? others : []), ...page.prompts.filter(({ name }) => !hidden.has(name))],
      _meta: { [GENERATION_META_KEY]: generation.digest },
    }
  })
  mcp.server.setRequestHandler('prompts/get', async (request, context) => {
    const { name, arguments: given = {} } = request.params
    return await trace.call(
      'prompts/get',
      { name, context, client: clientOf(mcp, context) },
      async report => {
        const answer = await prompts.get(name, given, invoke)
        if (answer === undefined)
          throw new ProtocolError(ProtocolErrorCode.InvalidParams, prompts.describeUnknown(name))
        const revision = String(answer._meta?.[REVISION_META_KEY]) as Digest
        report({ skill: name, revision })
        const client = loads === undefined ? undefined : nameClient(mcp, loads)
        if (client !== undefined) loads?.memory.record(client, name, revision)
        return answer
      },
    )
  })
  passToHost(mcp, 'prompts/get', host, async ({ name }, context) => {
    const others = await listOfHost<Prompt>(host, PROMPTS, {}, context)
    return others.every(other => other.name !== name)
  })
}

/** Whether a URI belongs to the skills. */
function isSkillScheme(uri: string): boolean {
  return /^skill:\/\//i.test(uri)
}

/**
 * Replaces the resource handlers of the SDK, because these handlers support neither pages nor metadata about revisions.
 */
function serveResources(mcp: McpServer, { source, trace }: AttachedParts, host: HostHandlers): void {
  mcp.server.setRequestHandler('resources/list', async (request, context) => {
    const { generation, ...page } = await source.listManifests(request.params?.cursor)
    const isFirst = request.params?.cursor === undefined
    const others = isFirst ? await listOfHost<{ uri: string }>(host, RESOURCES, request, context) : []
    return {
      ...page,
      // The skills answer all requests for `skill://`, so a client could not read such a resource of the host.
      resources: [...others.filter(({ uri }) => !isSkillScheme(uri)), ...page.resources] as never,
      _meta: { [GENERATION_META_KEY]: generation.digest },
    }
  })
  mcp.server.setRequestHandler('resources/templates/list', async (request, context) => {
    const templates = await listOfHost<{ name: string; uriTemplate: string }>(
      host,
      TEMPLATES,
      request,
      context,
    )
    const own = {
      name: SKILLS_EXTENSION_ID,
      title: 'File of a skill',
      uriTemplate: URI_TEMPLATE,
      description: 'A file of a skill at its newest revision, for example skill://refund/SKILL.md',
    }
    // Leaves out the template of the extension, which has no variables that a client could complete.
    return {
      resourceTemplates: [
        own,
        ...templates.filter(each => each.name !== SKILLS_EXTENSION_ID && each.uriTemplate !== URI_TEMPLATE),
      ],
    }
  })
  mcp.server.setRequestHandler('resources/read', async (request, context) => {
    const { uri } = request.params
    requireShort('URI', uri)
    return await trace.call(
      'resources/read',
      { name: uri, context, client: clientOf(mcp, context) },
      async report => {
        const reading = await source.readFile(uri)
        if (reading === undefined) throw new ResourceNotFoundError(uri)
        const { content, skill, generation } = reading
        report({ skill: skill?.name, revision: skill?.revision })
        const { mimeType } = content
        const body =
          'text' in content ? { text: content.text } : { blob: Buffer.from(content.bytes).toString('base64') }
        const _meta = defined({
          [REVISION_META_KEY]: skill?.revision,
          [GENERATION_META_KEY]: generation.digest,
        })
        return { contents: [{ uri, ...(mimeType === undefined ? {} : { mimeType }), ...body, _meta }] }
      },
    )
  })
  passToHost(mcp, 'resources/read', host, ({ uri }) => {
    requireShort('URI', uri)
    return isSkillScheme(uri)
  })
}

function serveCompletions(mcp: McpServer, { prompts, source }: AttachedParts, host: HostHandlers): void {
  mcp.server.setRequestHandler('completion/complete', async (request, context) => {
    const { ref, argument, context: known } = request.params
    if (ref.type === 'ref/resource') requireShort('URI', ref.uri)
    else requireShort('name', ref.name)
    if (ref.type === 'ref/resource' && ref.uri === URI_TEMPLATE)
      return toCompletion(source.completeUri(argument.name, argument.value, known?.arguments ?? {}))
    const choices =
      ref.type === 'ref/prompt' ? prompts.complete(ref.name, argument.name, argument.value) : undefined
    if (choices !== undefined) return toCompletion(choices)
    return (await host.get('completion/complete')?.(request as never, context)) as never
  })
}

const MAX_SUBSCRIPTIONS = 1_000

/**
 * Serves subscriptions of 2025-era clients, and passes the subscriptions of other resources to the host. The SDK serves
 * the subscriptions of 2026-era clients.
 */
function serveSubscriptions(mcp: McpServer, subscribed: Set<string>, host: HostHandlers): void {
  mcp.server.setRequestHandler('resources/subscribe', async (request, context) => {
    const { uri } = request.params
    requireShort('URI', uri)
    if (subscribed.size >= MAX_SUBSCRIPTIONS) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `this connection has ${MAX_SUBSCRIPTIONS} subscriptions, which is the limit`,
      )
    }
    if (!isSkillScheme(uri)) await host.get('resources/subscribe')?.(request as never, context)
    subscribed.add(uri)
    return {}
  })
  mcp.server.setRequestHandler('resources/unsubscribe', async (request, context) => {
    const { uri } = request.params
    if (!isSkillScheme(uri)) await host.get('resources/unsubscribe')?.(request as never, context)
    subscribed.delete(uri)
    return {}
  })
}
