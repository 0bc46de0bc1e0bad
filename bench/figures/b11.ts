import { createSkillRuntime } from '@skillstoke/core'
import { FileSource, MemoryFileSystem, NO_SETTLE } from '@skillstoke/core/source'
import type { Figure, MeasureOptions } from '../figure.ts'
import { descriptionOf, nameOf } from '../tree.ts'

const EDITS = 500

/** Counts how many catalogs are rendered, tools changed and messages sent because of body edits. */
export async function* b11(_options: MeasureOptions): AsyncGenerator<Figure> {
  const fileSystem = new MemoryFileSystem()
  const write = (index: number, body: string): void =>
    fileSystem.write(
      `/skills/${nameOf(index)}/SKILL.md`,
      `---\nname: ${nameOf(index)}\ndescription: ${descriptionOf(index)}\n---\n${body}`,
    )
  for (let i = 0; i < 100; i++) write(i, 'first')
  await using skills = await createSkillRuntime({
    sources: [new FileSource({ fileSystem, root: '/skills', label: 'bench' })],
    tuning: { settle: NO_SETTLE },
  })
  const session = skills.session({ id: 'bench' })
  const tools = JSON.stringify(session.tools)
  let catalog = skills.catalog()
  let renders = 0
  let messages = 0
  let toolChanges = 0
  const first = skills.current.number
  for (let i = 0; i < EDITS; i++) {
    write(i % 100, `edit ${i}`)
    await skills.fresh()
    if (skills.catalog() !== catalog) renders++
    catalog = skills.catalog()
    if ((await session.update()) !== undefined) messages++
    if (JSON.stringify(skills.session({ id: `bench-${i}` }).tools) !== tools) toolChanges++
  }
  if (skills.current.number - first !== EDITS) throw new Error('some edits created no generation')
  const figure = (what: string, count: number): Figure => ({
    id: 'B11',
    what,
    n: EDITS,
    value: { p50: count, p99: count },
    unit: 'count',
    target: '0',
    peers: { 'a host that renders at every change': EDITS },
  })
  yield figure('catalogs rendered again after body edits', renders)
  yield figure('messages to conversations after body edits', messages)
  yield figure('changed tool lists after body edits', toolChanges)
}
