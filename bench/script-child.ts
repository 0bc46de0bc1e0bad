// Child process of the peer that starts a process per reload. Loads a module and sends its answer.
const { answer } = (await import(process.argv[2] ?? '')) as { answer: () => number }
process.send?.(answer())
