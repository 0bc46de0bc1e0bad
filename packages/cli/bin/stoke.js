#!/usr/bin/env node
// A signal would open Node's inspector, and a script that we run could send it: whoever connects runs code as we.
if (process.platform !== 'win32') process.on('SIGUSR1', () => {})

// This file has to parse and run on old versions of Node, to say which one is needed; everything else is in main. It is
// plain JavaScript, so that it is there to be linked before anything was built.
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
