import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
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
