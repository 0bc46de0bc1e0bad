/** Tells single keys as they are pressed; returns a function that gives the terminal back as it was. */
export function listenForKeys(onKey: (key: string) => void): () => void {
  const { stdin } = process
  const onData = (data: Buffer): void => {
    for (const key of data.toString('utf8')) onKey(key)
  }
  stdin.setRawMode(true)
  stdin.resume()
  stdin.on('data', onData)
  return () => {
    stdin.off('data', onData)
    stdin.setRawMode(false)
    stdin.pause()
  }
}
