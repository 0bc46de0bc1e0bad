import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSkillRuntime, type SkillRuntime } from '@skillstoke/core'
import { directory, nodeHasher } from '@skillstoke/core/node'
import { childProcesses, type SandboxMode, type ScriptRunnerOptions } from '@skillstoke/scripts'

const HELPERS = 5
const PADDING = `// ${'One comment line of a script skill. '.repeat(12)}\n`.repeat(4)

/** A skill with one command in six modules of about 2 KB. The main module imports four modules, and one of these four imports the sixth module. */
export class ScriptSkill implements Disposable {
  readonly root: string = mkdtempSync(join(tmpdir(), 'skillstoke-bench-'))
  readonly folder: string = join(this.root, 'bench')

  constructor() {
    mkdirSync(join(this.folder, 'scripts/lib'), { recursive: true })
    writeFileSync(
      join(this.folder, 'SKILL.md'),
      '---\nname: bench\ndescription: Tells its version.\n---\nCall it.\n',
    )
    const imports = Array.from(
      { length: HELPERS - 1 },
      (_, i) => `import { helper${i} } from './lib/helper${i}.ts'`,
    )
    for (let i = 0; i < HELPERS - 1; i++) {
      const inner = i === 0 ? "import { version } from './version.ts'\n" : ''
      const value = i === 0 ? 'version' : String(i)
      this.#write(`lib/helper${i}.ts`, `${inner}${PADDING}export const helper${i}: number = ${value}\n`)
    }
    this.#write(
      'main.ts',
      `import { defineCommand } from 'skillstoke/command'\n${imports.join('\n')}\n${PADDING}
       export const version = defineCommand({ name: 'version', description: 'Tells it.', input: { type: 'object' }, run: () => answer() })
       export const answer = (): number => helper0\n`,
    )
    this.#write(
      'plain.ts',
      `${imports.join('\n')}\n${PADDING}\nexport const answer = (): number => helper0\n`,
    )
    this.save(0)
  }

  /** Path of a module with the same code but without a command, for loaders that do not know skills. */
  get plain(): string {
    return join(this.folder, 'scripts/plain.ts')
  }

  /** Edits the sixth module, which the main module imports indirectly. */
  save(version: number): void {
    this.#write('lib/version.ts', `${PADDING}export const version: number = ${version}\n`)
  }

  async open(sandbox: SandboxMode, options: ScriptRunnerOptions = {}): Promise<SkillRuntime> {
    return await createSkillRuntime({
      sources: [directory(this.root, { label: 'bench' })],
      tuning: { hasher: nodeHasher },
      scripts: childProcesses({ sandbox, ...options }),
    })
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true })
  }

  #write(path: string, text: string): void {
    writeFileSync(join(this.folder, 'scripts', path), text)
  }
}

export async function callVersion(skills: SkillRuntime): Promise<number> {
  return (await skills.scripts.execute('bench.version')).value as number
}
