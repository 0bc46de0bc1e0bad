import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const DIST = resolve('packages/core/dist')

function listModules(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return path === join(DIST, 'node') ? [] : listModules(path)
    return path.endsWith('.js') ? [path] : []
  })
}

test('the core names no module of Node', () => {
  const modules = listModules(DIST)
  expect(modules.length).toBeGreaterThan(40)
  const wrong = modules.filter(path =>
    /(?:from|import\()\s*['"](?:node:|fs|path|crypto)/.test(readFileSync(path, 'utf8')),
  )
  expect(wrong).toEqual([])
})

test('the core works where nothing of Node is there', () => {
  const script = `
    for (const name of ['process', 'Buffer', 'require', 'setImmediate', 'global']) delete globalThis[name]
    const { createSkillRuntime, FileSource, MemoryFileSystem } = await import(${JSON.stringify(join(DIST, 'index.js'))})
    const fileSystem = new MemoryFileSystem({ '/skills/pdf/SKILL.md': '---\\nname: pdf\\ndescription: Reads PDF.\\n---\\nRead it.' })
    const skills = await createSkillRuntime({ sources: [new FileSource({ fileSystem, root: '/skills', label: 'skills' })] })
    const { body } = await skills.load('pdf')
    fileSystem.write('/skills/pdf/SKILL.md', '---\\nname: pdf\\ndescription: Reads PDF.\\n---\\nRead it twice.')
    console.log(body, '|', (await skills.load('pdf')).body)
    await skills.close()
  `
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
  expect(run.stderr).toBe('')
  expect(run.stdout.trim()).toBe('Read it. | Read it twice.')
})
