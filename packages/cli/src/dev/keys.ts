/** Calls `onKey` for each key pressed. Returns a function that restores the terminal. */
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
