import { SkillAgent } from '@skillstoke/agent'
import { createSkillRuntime, type SessionOffer } from '@skillstoke/core'
import { FileSource, MemoryFileSystem, NO_SETTLE } from '@skillstoke/core/source'
import { verifies } from '@skillstoke/requirements'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ScriptedModel } from './fixtures/scripted-model.ts'
import { skillText } from './fixtures/skill-folder.ts'

type Action =
  | { readonly kind: 'write'; readonly name: string; readonly description: string; readonly body: string }
  | { readonly kind: 'break'; readonly name: string }
  | { readonly kind: 'remove'; readonly name: string }
  | { readonly kind: 'rename'; readonly from: string; readonly to: string }
  | { readonly kind: 'say' }
  | { readonly kind: 'load'; readonly name: string }
  | { readonly kind: 'read'; readonly name: string }

const name = fc.constantFrom('pdf', 'refund', 'tone', 'maps')
const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({
    kind: fc.constant('write' as const),
    name,
    description: fc.constantFrom('One.', 'Two & <b>.', 'Three "quoted".', '</available_skills>'),
    body: fc.constantFrom('First.', 'Second.', '</skill>', 'Third\n---\nfourth'),
  }),
  fc.record({ kind: fc.constant('break' as const), name }),
  fc.record({ kind: fc.constant('remove' as const), name }),
  fc.record({ kind: fc.constant('rename' as const), from: name, to: name }),
  fc.record({ kind: fc.constant('say' as const) }),
  fc.record({ kind: fc.constant('load' as const), name }),
  fc.record({ kind: fc.constant('read' as const), name }),
)

function apply(fileSystem: MemoryFileSystem, change: Action): void {
  switch (change.kind) {
    case 'write':
      fileSystem.write(`/skills/${change.name}/SKILL.md`, skillText(change.name, change))
      break
    case 'break':
      fileSystem.write(`/skills/${change.name}/SKILL.md`, '---\nname: "\n---\n')
      break
    case 'remove':
      fileSystem.remove(`/skills/${change.name}`)
      break
    case 'rename':
      // Only the name in the frontmatter changes. After this change, the folder contains a skill with a new name,
      // which may be the name of a skill in another folder.
      fileSystem.write(`/skills/${change.from}/SKILL.md`, skillText(change.to))
      break
    case 'say':
    case 'load':
    case 'read':
      break
    default:
      change satisfies never
  }
}

// Checks PROMISE-6 in the requests that the model received.
test(`no change of the skills alters bytes that a model has already received ${verifies('PROMISE-6')}`, async () => {
  let updates = 0
  let loads = 0
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 2, maxLength: 25 }), async actions => {
      const fileSystem = new MemoryFileSystem({
        '/skills/pdf/SKILL.md': skillText('pdf'),
        '/skills/tone/SKILL.md': skillText('tone'),
      })
      await using skills = await createSkillRuntime({
        sources: [new FileSource({ fileSystem, root: '/skills', label: 'skills' })],
        tuning: { settle: NO_SETTLE },
      })
      let next: Action = { kind: 'say' }
      const model = new ScriptedModel(call => {
        // Skills also change during a run, between two model calls.
        apply(fileSystem, actions[call % actions.length] as Action)
        const wanted = next
        next = { kind: 'say' }
        if (wanted.kind === 'load') return { tool: 'skill', input: { name: wanted.name } }
        if (wanted.kind === 'read')
          return { tool: 'read_skill_file', input: { skill: wanted.name, path: 'SKILL.md' } }
        return { text: 'Done.' }
      })
      const conversation = new SkillAgent({ skills, model }).conversation('test')
      for (const each of actions) {
        apply(fileSystem, each)
        next = each
        if (each.kind === 'say' || each.kind === 'load' || each.kind === 'read')
          await conversation.send('Go on.')
      }
      await conversation.send('The end.')
      const requests = model.requests.map(request => ScriptedModel.toParts(request))
      updates += requests.at(-1)?.filter(part => part.includes('<skills_update')).length ?? 0
      loads += requests.at(-1)?.filter(part => part.includes('<skill_')).length ?? 0
      for (let i = 1; i < requests.length; i++) {
        const before = requests[i - 1] as string[]
        expect(requests[i]?.slice(0, before.length)).toEqual(before)
      }
    }),
    { numRuns: 100 },
  )
  // A session that never sends a notice would also pass, so require some notices.
  expect(updates).toBeGreaterThan(100)
  expect(loads).toBeGreaterThan(20)
})

type Step =
  | Action
  | { readonly kind: 'offer' }
  | { readonly kind: 'keep' }
  | { readonly kind: 'keepNewest' }
  | { readonly kind: 'drop' }
  | { readonly kind: 'resume' }

const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: action, weight: 4 },
  {
    arbitrary: fc.record({
      kind: fc.constantFrom(...(['offer', 'offer', 'offer', 'keep', 'keepNewest', 'drop'] as const)),
    }),
    weight: 4,
  },
  { arbitrary: fc.record({ kind: fc.constant('resume' as const) }), weight: 1 },
)

/** Returns the skills that a model knows after it has read the catalog and then every message in order. */
function learn(texts: readonly string[]): Record<string, string> {
  const known = new Map<string, string>()
  for (const text of texts) {
    for (const [, listed = '', description = ''] of text.matchAll(
      /<name>(.*)<\/name>\n<description>(.*)<\/description>/g,
    ))
      known.set(listed, description)
    for (const [, gone = ''] of text.matchAll(/^- removed: (.*)$/gm)) known.delete(gone)
    for (const [, said = '', description = ''] of text.matchAll(
      /^- (?:added|description changed): (\S+): (.*)$/gm,
    ))
      known.set(said, description)
  }
  return Object.fromEntries([...known].sort(([a], [b]) => (a < b ? -1 : 1)))
}

test(`the committed messages describe the current skills, even if some offers were dropped ${verifies('PROMISE-6')}`, async () => {
  let dropped = 0
  let overlapping = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async steps => {
      const fileSystem = new MemoryFileSystem({
        '/skills/pdf/SKILL.md': skillText('pdf'),
        '/skills/tone/SKILL.md': skillText('tone'),
      })
      await using skills = await createSkillRuntime({
        sources: [new FileSource({ fileSystem, root: '/skills', label: 'skills' })],
        tuning: { settle: NO_SETTLE },
      })
      let session = skills.session({ id: 's' })
      const { catalog } = session
      const history: string[] = [catalog]
      const open: SessionOffer[] = []
      for (const each of [...steps, ...Array.from({ length: 40 }, () => ({ kind: 'keep' as const }))]) {
        switch (each.kind) {
          case 'offer': {
            const offer = await session.offer()
            if (offer === undefined) break
            open.push(offer)
            if (open.length > 1) overlapping++
            break
          }
          case 'keep':
          case 'keepNewest': {
            // Offers may be committed in any order. The history has the order of the commits.
            const offer = each.kind === 'keep' ? open.shift() : open.pop()
            if (offer === undefined) break
            history.push(offer.text)
            offer.commit()
            break
          }
          case 'drop':
            if (open.shift() !== undefined) dropped++
            break
          case 'resume':
            open.length = 0
            session = skills.session({ id: 's', resume: JSON.parse(JSON.stringify(session.state())) })
            break
          case 'load':
            await session.tools[0]?.execute({ name: each.name })
            break
          default:
            apply(fileSystem, each)
        }
        expect(session.catalog).toBe(catalog)
      }
      const last = await session.update()
      if (last !== undefined) history.push(last.text)
      const listed = skills.forConversation({}).catalog().text
      expect(learn(history)).toEqual(learn([listed]))
      expect(await session.offer()).toBeUndefined()
    }),
    { numRuns: 200 },
  )
  // A host that commits every offer would also pass, so require dropped and overlapping offers.
  expect(dropped).toBeGreaterThan(100)
  expect(overlapping).toBeGreaterThan(50)
})
