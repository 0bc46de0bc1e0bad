import { readFileSync } from 'node:fs'

/** Returns the version of this package. */
export function readVersion(): string {
  const text = readFileSync(new URL(import.meta.resolve('skillstoke/package.json')), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
