import type { LanguageModelV4 } from '@ai-sdk/provider'

/**
 * A model that answers nothing. The AI SDK runs approved calls only as a part of a model call. With this model, their
 * results are complete before the request to the real model, which may fail.
 */
export const NO_MODEL: LanguageModelV4 = {
  specificationVersion: 'v4',
  provider: 'skillstoke',
  modelId: 'none',
  supportedUrls: {},
  doGenerate: async () => ({ content: [], ...END, warnings: [] }),
  doStream: async () => ({
    stream: ReadableStream.from([
      { type: 'stream-start' as const, warnings: [] },
      { type: 'finish' as const, ...END },
    ]),
  }),
}

const END = {
  finishReason: { unified: 'stop', raw: undefined },
  usage: {
    inputTokens: { total: 0, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 0, text: undefined, reasoning: undefined },
  },
} as const
