// The peer that starts a process for each reload: loads a module, sends what it answers.
const { answer } = (await import(process.argv[2] ?? '')) as { answer: () => number }
process.send?.(answer())
