// Child process of the peer that starts a process for each reload. This process loads one module and sends the answer of that module.
const { answer } = (await import(process.argv[2] ?? '')) as { answer: () => number }
process.send?.(answer())
