import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import * as api from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { bridgeOpenTelemetry, publishEvents } from '@skillstoke/core/node'
import { afterEach, expect, test } from 'vitest'
import { ERAS, open, text } from '../../../tests/fixtures/mcp-harness.ts'

const FILES = { 'refund/SKILL.md': text('refund'), 'maps/SKILL.md': text('maps') }

afterEach(() => {
  api.trace.disable()
  api.metrics.disable()
})

test.each(ERAS)(
  'a request of a client with protocol version %s becomes a span with the skill and its revision',
  async era => {
    const spans = new InMemorySpanExporter()
    // The bridge is a part of the tracer provider, so it exists before both providers.
    const bridge = bridgeOpenTelemetry(api)
    const provider = new BasicTracerProvider({ spanProcessors: [bridge, new SimpleSpanProcessor(spans)] })
    api.trace.setGlobalTracerProvider(provider)
    const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
    const reader = new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 3_600_000 })
    const meters = new MeterProvider({ readers: [reader] })
    api.metrics.setGlobalMeterProvider(meters)
    await using it = await open(FILES, { name: 'support' })
    const stop = publishEvents(it.skills)
    const client = await it.connect(era)
    await client.callTool({ name: 'skill', arguments: { name: 'refund' } })
    await client.callTool({ name: 'skill', arguments: { name: 'nothing' } })
    await client.getPrompt({ name: 'maps' })
    await client.readResource({ uri: 'skill://maps/SKILL.md' })
    await expect(client.readResource({ uri: 'skill://nothing/SKILL.md' })).rejects.toThrow()
    await it.write('maps/SKILL.md', text('maps', 'New.'))
    stop()
    await bridge.shutdown()
    await client.callTool({ name: 'skill', arguments: { name: 'maps' } }) // not seen any more
    const { revision } = it.skills.current.get('refund')
    const found = spans.getFinishedSpans()
    expect(found.map(span => [span.name, span.attributes['skillstoke.skill'], span.status.code])).toEqual([
      ['tools/call skill', 'refund', api.SpanStatusCode.UNSET],
      ['tools/call skill', undefined, api.SpanStatusCode.ERROR],
      ['prompts/get maps', 'maps', api.SpanStatusCode.UNSET],
      ['resources/read skill://maps/SKILL.md', 'maps', api.SpanStatusCode.UNSET],
      ['resources/read skill://nothing/SKILL.md', undefined, api.SpanStatusCode.ERROR],
    ])
    expect(found[0]?.kind).toBe(api.SpanKind.SERVER)
    expect(found[0]?.attributes).toMatchObject({
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'skill',
      'skillstoke.client': 'test',
      'skillstoke.server': 'support',
      'skillstoke.revision': revision,
    })
    await meters.forceFlush()
    const counts = Object.fromEntries(
      metrics
        .getMetrics()
        .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(scope => scope.metrics))
        .map(({ descriptor, dataPoints }) => [
          descriptor.name,
          dataPoints.reduce(
            (sum, { value }) => sum + (typeof value === 'number' ? value : (value.count ?? 0)),
            0,
          ),
        ]),
    )
    expect(counts).toMatchObject({
      'skillstoke.activations': 2,
      'skillstoke.requests': 5,
      'skillstoke.changes': 1,
      'mcp.server.operation.duration': 5,
    })
    expect(counts['skillstoke.notifications']).toBeGreaterThan(0)
    await meters.shutdown()
  },
)

test('a span continues the trace of the caller', async () => {
  const spans = new InMemorySpanExporter()
  api.trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }),
  )
  api.propagation.setGlobalPropagator({
    inject: () => undefined,
    extract: (context, carrier: { traceparent: string }) => {
      const [, traceId = '', spanId = ''] = carrier.traceparent.split('-')
      return api.trace.setSpanContext(context, { traceId, spanId, traceFlags: 1, isRemote: true })
    },
    fields: () => ['traceparent'],
  })
  await using it = await open(FILES)
  const stopEvents = publishEvents(it.skills)
  const bridge = bridgeOpenTelemetry(api)
  const client = await it.connect('2026-07-28')
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  await client.callTool({
    name: 'skill',
    arguments: { name: 'refund' },
    _meta: { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
  })
  stopEvents()
  await bridge.shutdown()
  const [span] = spans.getFinishedSpans()
  expect(span?.spanContext().traceId).toBe(traceId)
  const { revision } = it.skills.current.get('refund')
  expect(span?.events).toMatchObject([{ name: 'skill.used', attributes: { skill: 'refund', revision } }])
  api.propagation.disable()
})

test('each use of a skill is published on its diagnostics channel, and lines of scripts are not', async () => {
  const told: unknown[] = []
  const listen = (message: unknown): void => void told.push(message)
  subscribe('skillstoke:skill:used', listen)
  await using it = await open(FILES)
  const stop = publishEvents(it.skills)
  const client = await it.connect('2026-07-28')
  await client.callTool({ name: 'skill', arguments: { name: 'refund' } })
  stop()
  await client.callTool({ name: 'skill', arguments: { name: 'maps' } })
  unsubscribe('skillstoke:skill:used', listen)
  const { revision } = it.skills.current.get('refund')
  expect(told).toMatchObject([{ skill: 'refund', revision, by: 'model', tool: 'skill' }])
})
