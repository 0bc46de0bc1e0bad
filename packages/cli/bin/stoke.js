#!/usr/bin/env node
// Ignores SIGUSR1, which opens Node's inspector. A skill script could send the signal and then run code in this process.
if (process.platform !== 'win32') process.on('SIGUSR1', () => {})

// This file must run on old versions of Node, to report which version is needed. It is plain JavaScript, so that npm can
// link it before a build.
const NEEDED_MAJOR = 24

if (Number(process.versions.node.split('.')[0]) < NEEDED_MAJOR) {
  console.error(
    `skillstoke needs Node ${NEEDED_MAJOR} or newer; this is ${process.version}. Install it from https://nodejs.org`,
  )
  process.exitCode = 2
} else {
  import('../dist/main.js')
    .then(({ main }) => main(process.argv))
    .catch(error => {
      console.error(
        error.code === 'ERR_MODULE_NOT_FOUND' ? `${error.message}\nRun "npm run build" first.` : error,
      )
      process.exitCode = 2
    })
}
