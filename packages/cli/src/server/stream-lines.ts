import { LATE, waitAtMost } from '@skillstoke/core/internal'
import { systemClock } from '@skillstoke/core/source'

export interface LineStreamOptions {
  /** Interval of blank lines, which keep the connection open while no item comes. */
  readonly keepAliveMs: number
  /** Called when the reader closes the stream. The iterator must then end soon. */
  readonly onCancel: () => void
}

/**
 * Streams each item as one line of JSON. Reads an item only when the reader has read the last one, so a slow reader uses
 * no memory. Requests the first item before the function returns.
 */
export function streamLines(
  items: AsyncGenerator<object, void, undefined>,
  { keepAliveMs, onCancel }: LineStreamOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder()
  let isCancelled = false
  let next: ReturnType<typeof items.next> | undefined = items.next()
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      next ??= items.next()
      const item = await waitAtMost(systemClock, keepAliveMs, next)
      if (isCancelled) return
      if (item === LATE) controller.enqueue(encoder.encode('\n'))
      else {
        next = undefined
        if (item.done === true) controller.close()
        else controller.enqueue(encoder.encode(`${JSON.stringify(item.value)}\n`))
      }
    },
    async cancel() {
      isCancelled = true
      onCancel()
      await items.return()
    },
  })
}
