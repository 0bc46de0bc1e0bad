/**
 * The globals that exist in every JavaScript runtime. The core may use only these globals.
 * `tests/runtime-neutrality.test.ts` checks it.
 */
interface AbortSignal {
  readonly aborted: boolean
  readonly reason: unknown
  throwIfAborted(): void
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
}
interface AbortController {
  readonly signal: AbortSignal
  abort(reason?: unknown): void
}
declare var AbortController: { new (): AbortController }
declare var AbortSignal: { any(signals: readonly AbortSignal[]): AbortSignal }

declare function setTimeout(callback: () => void, delayMs: number): unknown
declare function clearTimeout(timer: unknown): void
declare function queueMicrotask(callback: () => void): void
declare function structuredClone<T>(value: T): T

interface TextEncoder {
  encode(text: string): Uint8Array
}
declare var TextEncoder: { new (): TextEncoder }
interface TextDecoder {
  decode(bytes: Uint8Array): string
}
declare var TextDecoder: {
  new (label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean }): TextDecoder
}

declare var performance: { now(): number }

declare var crypto: { getRandomValues(target: Uint8Array): Uint8Array }
