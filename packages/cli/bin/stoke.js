#!/usr/bin/env node
// A signal would open Node's inspector, and a script can send signals: whoever connects could run code in this process.
if (process.platform !== 'win32') process.on('SIGUSR1', () => {})

// This file parses and runs on old versions of Node, so that it can report which version is needed. It is plain JavaScript,
// so that npm can link it before the first build.
const OLDEST = [22, 16]

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  console.error(
    `skillstoke needs Node ${OLDEST.join('.')} or newer; this is ${process.version}. Install it from https://nodejs.org`,
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
