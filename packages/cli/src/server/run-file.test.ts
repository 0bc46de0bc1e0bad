import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sweepRunFiles } from './run-file.ts'

/** A number greater than any process id on Linux. */
const GONE = 2 ** 22 + 1

let state: string

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'run-files-'))
  mkdirSync(join(state, 'run'))
})

afterEach(() => {
  rmSync(state, { recursive: true, force: true })
})

function write(name: string, content: string): void {
  writeFileSync(join(state, 'run', name), content)
}

const fileOf = (host: string): string =>
  JSON.stringify({ url: 'http://127.0.0.1:1', host, pid: GONE, startId: 'a', token: 'token', roots: [] })

test('sweepRunFiles() removes the files of processes that ran on this machine and have ended', async () => {
  write(`${GONE}.json.half.tmp`, '{')
  write(`${GONE}.json.whole.tmp`, fileOf(hostname()))
  write(`open-${GONE}.html`, 'an address')
  write(`open-${process.pid}.html`, 'the address of a process that runs')
  write(`${GONE}.json`, fileOf(hostname()))
  await sweepRunFiles({ stateDirectory: state })
  expect(readdirSync(join(state, 'run'))).toEqual([`open-${process.pid}.html`])
})

test('sweepRunFiles() keeps the files of processes that run on another machine', async () => {
  const kept = [`${GONE}.json`, `${GONE}.json.half.tmp`, `${GONE + 1}.json.whole.tmp`, `open-${GONE}.html`]
  write(`${GONE}.json`, fileOf('another-machine'))
  write(`${GONE}.json.half.tmp`, '{')
  write(`${GONE + 1}.json.whole.tmp`, fileOf('another-machine'))
  write(`open-${GONE}.html`, 'an address')
  await sweepRunFiles({ stateDirectory: state })
  expect(readdirSync(join(state, 'run')).sort()).toEqual(kept.sort())
})
