import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

interface Manifest {
  readonly name: string
  readonly exports?: Readonly<Record<string, string | { readonly default: string }>>
}

interface Alias {
  readonly find: RegExp
  readonly replacement: string
}

const PACKAGES = resolve(import.meta.dirname, '../packages')

/** Resolves each entry point of our packages to its source file. Unit tests can then run without a build, and the page of the dev server contains no unused code. */
export function sourceAliases(): Alias[] {
  return readdirSync(PACKAGES).flatMap(folder => {
    const manifest = join(PACKAGES, folder, 'package.json')
    if (!existsSync(manifest)) return []
    const { name, exports = {} } = JSON.parse(readFileSync(manifest, 'utf8')) as Manifest
    return Object.entries(exports).flatMap(([door, target]): Alias[] => {
      const built = typeof target === 'string' ? target : target.default
      const source = built.replace(/^\.\/dist\/(.*)\.js$/, 'src/$1.ts')
      if (source === built) return []
      const specifier = name + door.slice(1)
      return [{ find: new RegExp(`^${specifier}$`), replacement: join(PACKAGES, folder, source) }]
    })
  })
}
