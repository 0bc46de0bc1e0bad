#!/usr/bin/env node
// A script can send the signal SIGUSR1, which opens Node's inspector. Any program that connects to the inspector can
// run code in this process. This handler keeps the inspector closed.
if (process.platform !== 'win32') process.on('SIGUSR1', () => {})

// This file parses and runs on old versions of Node, so that it can report which version is needed. The file is plain
// JavaScript, so that npm can link it before the first build.
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
      const advice = import.meta.url.includes('/node_modules/')
        ? 'The installation is incomplete. Install the package "skillstoke" again.'
        : 'Run "npm ci" and "npm run build" first.'
      console.error(error.code === 'ERR_MODULE_NOT_FOUND' ? `${error.message}\n${advice}` : error)
      process.exitCode = 2
    })
}
