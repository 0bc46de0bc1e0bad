/**
 * Yields the value of each line of JSON in a response. Skips blank lines, which only keep the connection open. Cancels the stream when
 * the caller stops reading.
 */
export async function* readJsonLines<T>(
  response: Pick<Response, 'body'>,
): AsyncGenerator<T, void, undefined> {
  const reader = (response.body as ReadableStream<Uint8Array<ArrayBuffer>>)
    .pipeThrough(new TextDecoderStream())
    .getReader()
  let rest = ''
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = `${rest}${part.value}`.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) if (line !== '') yield JSON.parse(line) as T
    }
  } finally {
    await reader.cancel().catch(() => undefined) // fails if the stream has ended or is broken
  }
}
