import { defineConfig, type Plugin } from 'vite'
import { describeLicenses, LICENSES } from '../../scripts/licenses.ts'
import { sourceAliases } from '../../scripts/source-aliases.ts'

/** Adds the licences of the bundled packages to the page. */
const licenses: Plugin = {
  name: 'licenses',
  generateBundle(_options, bundle) {
    const modules = Object.values(bundle).flatMap(file => (file.type === 'chunk' ? file.moduleIds : []))
    this.emitFile({ type: 'asset', fileName: LICENSES, source: describeLicenses(modules) })
  },
}

export default defineConfig({
  root: import.meta.dirname,
  plugins: [licenses],
  // Bundles individual source files, because the built packages would add unused code.
  resolve: { alias: sourceAliases() },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    // Writes the page into the package that serves it.
    outDir: '../cli/dist/page',
    emptyOutDir: true,
    target: 'es2024',
    modulePreload: false,
    sourcemap: false,
  },
})
