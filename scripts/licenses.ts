import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Name of the file that contains the licences of bundled packages. The file is in the folder of the bundle. */
export const LICENSES = 'LICENSES.txt'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license: string
}

/** Matches modules that the bundler itself adds, for example `\0@oxc-project+runtime@0.156.0/helpers/esm/usingCtx.js`. */
const VIRTUAL = /^\0(@?[^@/+]+)\+?([^@/]*)@/

/**
 * Returns the licences of all packages that contain the given modules, sorted by package name. Modules of this repository are ignored.
 * @param moduleIds paths of files, or names of virtual modules
 * @throws {Error} when a package has no licence file
 */
export function describeLicenses(moduleIds: Iterable<string>): string {
  const folders = new Set([...moduleIds].flatMap(id => findPackage(id) ?? []))
  return [...folders]
    .sort()
    .map(describeLicense)
    .join(`\n${'-'.repeat(80)}\n\n`)
}

function findPackage(id: string): string | undefined {
  const virtual = VIRTUAL.exec(id)
  if (virtual !== null) return join('node_modules', virtual[1] ?? '', virtual[2] ?? '')
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0]
}

function describeLicense(folder: string): string {
  const { name, version, license } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  ) as Manifest
  const file = readdirSync(folder).find(each => /^licen[cs]e/i.test(each))
  if (file === undefined || !existsSync(join(folder, file)))
    throw new Error(`${folder} has no licence file; a package without one cannot be bundled`)
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
}
