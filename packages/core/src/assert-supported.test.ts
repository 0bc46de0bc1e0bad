import { expect, test } from 'vitest'
import { assertSupported } from './assert-supported.ts'

const run =
  (node: string | undefined): (() => void) =>
  () =>
    assertSupported({ process: { versions: { node } } })

test.each(['18.20.4', '20.20.2', '22.0.0', '22.15.1'])(
  'assertSupported() refuses Node %s with a message of one line',
  version => {
    expect(run(version)).toThrow(`Skillstoke needs Node 22.16 or newer, Bun or Deno; this is Node ${version}`)
  },
)

test.each(['22.16.0', '22.23.3', '24.0.0', '26.1.0', undefined])(
  'assertSupported() accepts Node %s',
  version => {
    expect(run(version)).not.toThrow()
    expect(() => assertSupported({})).not.toThrow()
  },
)
