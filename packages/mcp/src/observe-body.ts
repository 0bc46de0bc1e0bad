/**
 * Returns the same response. Calls `done()` when the body of the response has been read completely, was cancelled, failed
 * or was ended by the signal.
 */
export function observeBody(response: Response, done: () => void, signal?: AbortSignal): Response {
  const { body, status, statusText, headers } = response
  if (body === null) {
    done()
    return response
  }
  const reader = body.getReader()
  // If a body is cancelled during a read, `end()` is called twice.
  let isOpen = true
  const end = (): void => {
    if (!isOpen) return
    isOpen = false
    done()
  }
  const observed = new ReadableStream<Uint8Array>({
    start(controller) {
      signal?.addEventListener(
        'abort',
        () => {
          if (!isOpen) return
          end()
          controller.close()
          void reader.cancel()
        },
        { once: true },
      )
    },
    async pull(controller) {
      try {
        const part = await reader.read()
        if (!isOpen) return
        if (!part.done) return controller.enqueue(part.value)
        controller.close()
      } catch (thrown) {
        if (isOpen) controller.error(thrown)
      }
      end()
    },
    async cancel(reason) {
      end()
      await reader.cancel(reason)
    },
  })
  return new Response(observed, { status, statusText, headers })
}
