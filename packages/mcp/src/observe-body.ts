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
  // `done()` may abort the signal, and a body that the signal ended may be cancelled, too.
  let isOpen = true
  const end = (): void => {
    if (!isOpen) return
    isOpen = false
    done()
  }
  const observer = new TransformStream<Uint8Array, Uint8Array>({
    start(controller) {
      signal?.addEventListener('abort', () => {
        if (isOpen) controller.terminate()
        end()
      })
    },
    flush: end,
    cancel: end,
  })
  return new Response(body.pipeThrough(observer), { status, statusText, headers })
}
