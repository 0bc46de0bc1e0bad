#!/usr/bin/env node
// This file has to parse and run on old versions of Node, to say which one is needed; everything else is in main.
const NEEDED_MAJOR = 24

if (Number(process.versions.node.split('.')[0]) < NEEDED_MAJOR) {
  console.error(
    `skillstoke needs Node ${NEEDED_MAJOR} or newer; this is ${process.version}. Install it from https://nodejs.org`,
  )
  process.exitCode = 2
} else {
  void import('./main.ts').then(({ main }) => main(process.argv))
}
