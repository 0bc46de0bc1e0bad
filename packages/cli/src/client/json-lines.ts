/** Yields the decoded text of a response in parts. Cancels the stream when the caller stops reading. */
export async function* readParts(response: Pick<Response, 'body'>): AsyncGenerator<string, void, undefined> {
  const reader = (response.body as ReadableStream<Uint8Array<ArrayBuffer>>)
    .pipeThrough(new TextDecoderStream())
    .getReader()
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value
  } finally {
    await reader.cancel().catch(() => undefined) // fails if the stream has ended or is broken
  }
}

/** Yields the value of each line of JSON in a response. Skips blank lines, which only keep the connection open. */
export async function* readJsonLines<T>(
  response: Pick<Response, 'body'>,
): AsyncGenerator<T, void, undefined> {
  let rest = ''
  for await (const part of readParts(response)) {
    const lines = `${rest}${part}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') yield JSON.parse(line) as T
  }
}
