import {
  COUNTERS,
  type CounterName,
  followTelemetry,
  outcomeOf,
  type TracedRequest,
} from './follow-telemetry.ts'
import { type Attributes, describeModelCall, ModelCallSpans, type StartedSpan } from './model-call-spans.ts'

interface Span {
  setAttributes(attributes: Attributes): unknown
  setStatus(status: { code: number; message?: string }): unknown
  addEvent(name: string, attributes?: Attributes): unknown
  recordException(exception: Error): unknown
  end(): void
}

interface Counter {
  add(value: number, attributes?: Attributes): void
}

interface Histogram {
  record(value: number, attributes?: Attributes): void
}

/** The parts of `@opentelemetry/api` that the bridge uses. The whole package fits. */
export interface OpenTelemetryApi {
  readonly trace: {
    getTracer(name: string): {
      startSpan(name: string, options: { kind: number; attributes: Attributes }, context?: never): Span
    }
    getActiveSpan(): Span | undefined
    getSpan(context: never): Span | undefined
  }
  readonly metrics: {
    getMeter(name: string): {
      createCounter(name: string, options: { description: string }): Counter
      createHistogram(name: string, options: { description: string; unit: string }): Histogram
    }
  }
  readonly context: { active(): unknown }
  readonly propagation: { extract(context: never, carrier: unknown): unknown }
}

const NAME = 'skillstoke'
/** A name of ours, because the semantic conventions have none for what happens before a model call. */
const OFFER = 'offer_skills'
const INTERNAL_SPAN = 0
const SERVER_SPAN = 1
const STATUS_ERROR = 2

/** A span processor of the OpenTelemetry SDK. */
interface OpenTelemetryBridge {
  onStart(span: StartedSpan, context: unknown): void
  onEnd(): void
  forceFlush(): Promise<void>
  /** Stops the bridge. A tracer provider calls it when it shuts down. */
  shutdown(): Promise<void>
}

/**
 * Turns the diagnostics channels of Skillstoke into spans and metrics of OpenTelemetry: a span for each request of an MCP
 * client that used a skill, an event on the active span for each use of a skill, attributes for each model call, and
 * counters. Call `publishEvents()` for each runtime whose events count. Returns a span processor. Pass it to your tracer
 * provider if your SDK starts the spans of its model calls after the adapter has prepared them, as the AI SDK does.
 *
 * @example
 * ```ts no-run
 * import * as api from '@opentelemetry/api'
 * import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { bridgeOpenTelemetry, directory, publishEvents } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * publishEvents(skills)
 * api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [bridgeOpenTelemetry(api)] }))
 * ```
 */
export function bridgeOpenTelemetry(api: OpenTelemetryApi): OpenTelemetryBridge {
  const tracer = api.trace.getTracer(NAME)
  const calls = new ModelCallSpans()
  const spans = new WeakMap<TracedRequest, Span>()
  // Created at the first count, because the host may register its meter provider after the bridge.
  let created: ReturnType<typeof createInstruments> | undefined
  const instruments = () => (created ??= createInstruments(api))
  const stop = followTelemetry({
    count: (name, labels) => instruments().counters.get(name)?.add(1, labels),
    commandEnded: (seconds, labels) => instruments().commands.record(seconds, labels),
    used({ skill, revision, by, tool, callId, conversation }, request) {
      const attributes = toAttributes({ by, tool, 'gen_ai.tool.call.id': callId, conversation })
      const span = (request === undefined ? undefined : spans.get(request)) ?? api.trace.getActiveSpan()
      span?.addEvent('skill.used', { ...toAttributes({ skill, revision }), ...attributes })
      span?.setAttributes({ 'skillstoke.skill': skill, 'skillstoke.revision': revision })
    },
    offered(call) {
      const attributes = describeModelCall(call)
      const active = api.trace.getActiveSpan()
      if (active !== undefined) calls.prepared(active, attributes)
      else {
        const own = { 'gen_ai.operation.name': OFFER, ...attributes }
        tracer.startSpan(`${OFFER} ${NAME}`, { kind: INTERNAL_SPAN, attributes: own }).end()
      }
    },
    requestStarted(request) {
      const { method, name, traceparent } = request
      const active = api.context.active()
      const parent =
        traceparent === undefined ? active : api.propagation.extract(active as never, { traceparent })
      const options = { kind: SERVER_SPAN, attributes: describe(request) }
      spans.set(request, tracer.startSpan(`${method} ${name}`, options, parent as never))
    },
    requestEnded(request, seconds) {
      const { method, skill, revision, error } = request
      instruments().requests.record(seconds, { 'mcp.method.name': method, outcome: outcomeOf(request) })
      const span = spans.get(request)
      if (span === undefined) return
      span.setAttributes(toAttributes({ 'skillstoke.skill': skill, 'skillstoke.revision': revision }))
      if (error !== undefined) {
        const exception = error instanceof Error ? error : new Error(JSON.stringify(error))
        span.recordException(exception)
        span.setStatus({ code: STATUS_ERROR, message: exception.message })
      } else if (request.isError === true) {
        span.setAttributes({ 'error.type': 'tool_error' })
        span.setStatus({ code: STATUS_ERROR })
      }
      span.end()
    },
  })
  return {
    onStart: (span, context) => calls.started(span, api.trace.getSpan(context as never)),
    onEnd: () => undefined,
    forceFlush: async () => undefined,
    shutdown: async () => stop(),
  }
}

function createInstruments(api: OpenTelemetryApi) {
  const meter = api.metrics.getMeter(NAME)
  const counters = new Map<CounterName, Counter>()
  for (const [name, description] of Object.entries(COUNTERS) as [CounterName, string][])
    counters.set(name, meter.createCounter(`${NAME}.${name}`, { description }))
  const duration = (name: string, description: string): Histogram =>
    meter.createHistogram(name, { description, unit: 's' })
  return {
    counters,
    requests: duration('mcp.server.operation.duration', 'Time to answer a request of an MCP client'),
    commands: duration(`${NAME}.command.duration`, 'Run time of commands and scripts'),
  }
}

/** Names the attributes as the semantic conventions for MCP do. */
function describe({ method, name, server, client }: TracedRequest): Attributes {
  const subject =
    method === 'tools/call'
      ? 'gen_ai.tool.name'
      : method === 'prompts/get'
        ? 'gen_ai.prompt.name'
        : 'mcp.resource.uri'
  return toAttributes({
    'mcp.method.name': method,
    [subject]: name,
    'skillstoke.server': server,
    'skillstoke.client': client,
  })
}

function toAttributes(values: Readonly<Record<string, string | undefined>>): Attributes {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}
