import { defineConfig } from 'vite'
import { sourceAliases } from '../../scripts/source-aliases.ts'

export default defineConfig({
  root: import.meta.dirname,
  // Modules one by one: of the built files more would come along.
  resolve: { alias: sourceAliases() },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    // Into the package that serves it.
    outDir: '../cli/dist/page',
    emptyOutDir: true,
    target: 'es2024',
    modulePreload: false,
    sourcemap: false,
  },
})
