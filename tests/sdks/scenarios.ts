import type { HarnessConversation, HarnessOptions, ScenarioName } from './harness.ts'
import { addedText, countBrokenPrefixes, type ModelRequest, type Reply } from './model-server.ts'
import type { World } from './world.ts'

/** What a scenario found. `undefined` means that the SDK has no such function. */
export interface Finding {
  /** Whether the model learned of the change in its next call. */
  readonly follows: boolean
  /** Whether every request began with the whole previous request. Absent where the prefix must change. */
  readonly keepsPrefix?: boolean
}

/** Opens a conversation of the SDK. A second call continues the conversation as a new process would. */
export type Open = (options?: HarnessOptions) => Promise<HarnessConversation>

type Scenario = (world: World, open: Open) => Promise<Finding | undefined>

const DONE: Reply = { kind: 'text', text: 'Done.' }
const EDIT: Reply = { kind: 'call', name: 'edit', input: {} }
const LIVE_BODY = 'Refunds need form TWO.'

export const SCENARIOS: Readonly<Record<ScenarioName, Scenario>> = {
  async added(world, open) {
    await using chat = await open()
    await say(world, chat, [EDIT, DONE], () => addMaps(world))
    return judge(world, news => /\bmaps\b/.test(news))
  },

  async edited(world, open) {
    await using chat = await open()
    await say(world, chat, [load(chat, 'refund'), EDIT, load(chat, 'refund'), DONE], () => editRefund(world))
    const [, , told, last] = world.server.requests
    const isTold = told !== undefined && /\brefund\b/.test(addedText(world.server.requests[1], told))
    return { ...judge(world, () => true), follows: isTold && (last?.text.includes(LIVE_BODY) ?? false) }
  },

  async removed(world, open) {
    await using chat = await open()
    await say(world, chat, [EDIT, DONE], () => world.folder.remove('orders'))
    const finding = judge(world, news => /removed: orders/.test(news))
    const isGone = !(world.server.requests.at(-1)?.text.includes('orders') ?? true)
    return { ...finding, follows: finding.follows || isGone }
  },

  async 'broken save'(world, open) {
    await using chat = await open()
    const breakRefund = (): void => void world.folder.write('refund/SKILL.md', '---\nname: [\n---\nBroken.\n')
    await say(world, chat, [EDIT, load(chat, 'refund'), DONE], breakRefund)
    const finding = judge(world, () => true)
    return { ...finding, follows: world.server.requests.at(-1)?.text.includes('form ONE') ?? false }
  },

  async 'script edited'(world, open) {
    const write = (word: string): void => void world.folder.write('refund/scripts/tell.js', moduleOf(word))
    write('ALPHA')
    await using chat = await open()
    if (chat.canRunScripts !== true) return undefined
    const run: Reply = {
      kind: 'call',
      name: 'run_skill_command',
      input: { skill: 'refund', command: 'tell', input: {} },
    }
    await say(world, chat, [run, EDIT, run, DONE], () => write('BETA'))
    const finding = judge(world, () => true)
    const { requests } = world.server
    const isLive =
      (requests[1]?.text.includes('ALPHA') ?? false) && (requests.at(-1)?.text.includes('BETA') ?? false)
    return { ...finding, follows: isLive }
  },

  async scope(world, open) {
    await using chat = await open({ scope: { exclude: ['secret*'] } })
    await say(
      world,
      chat,
      [EDIT, load(chat, 'secret'), DONE],
      () => void world.folder.writeSkill('secret-two'),
    )
    const { requests } = world.server
    const texts = requests.map(({ text }) => text).join('\n')
    const isHidden = !/Instructions of secret|Does what secret|secret-two/.test(texts)
    return { ...judge(world, () => true), follows: isHidden }
  },

  async subagent(world, open) {
    await using chat = await open()
    if (chat.openSubagent === undefined) return undefined
    const { server } = world
    await say(world, chat, [DONE])
    const parentRequests = server.requests.splice(0)
    const child = await chat.openSubagent()
    await say(world, child, [EDIT, load(chat, 'secret'), DONE], () => addMaps(world))
    const childRequests = server.requests.splice(0)
    await say(world, chat, [DONE])
    const childText = childRequests.map(({ text }) => text).join('\n')
    const isHidden = !/Instructions of secret|Does what secret/.test(childText)
    const isTold = /\bmaps\b/.test(childRequests[1]?.text ?? '')
    return {
      follows: isHidden && isTold && /\bmaps\b/.test(server.requests[0]?.text ?? ''),
      keepsPrefix:
        countBrokenPrefixes(childRequests) + countBrokenPrefixes([...parentRequests, ...server.requests]) ===
        0,
    }
  },

  async 'failed call'(world, open) {
    await using chat = await open()
    world.prepare(() => addMaps(world))
    world.server.play(EDIT, { kind: 'status', status: 400 })
    const hasFailed = await chat.say('Begin.').then(
      () => false,
      () => true,
    )
    if (!hasFailed) throw new Error('the failed model call was not reported')
    const failed = world.server.requests.length
    await say(world, chat, [DONE])
    const after = world.server.requests.slice(failed)
    const last = after.at(-1)
    const isToldOnce = /\bmaps\b/.test(last?.text ?? '') && count(last, 'added: maps') <= 1
    // The first request is the only one that the model answered.
    const answered = world.server.requests.slice(0, 1)
    return { follows: isToldOnce, keepsPrefix: countBrokenPrefixes([...answered, ...after]) === 0 }
  },

  async restart(world, open) {
    {
      await using before = await open()
      await say(world, before, [load(before, 'refund'), EDIT, DONE], () => addMaps(world))
    }
    editRefund(world)
    await using chat = await open()
    await say(world, chat, [DONE])
    const last = world.server.requests.at(-1)
    const isTold = /\brefund\b/.test(addedText(world.server.requests.at(-2), last ?? fail()))
    const toldOnce = count(last, 'added: maps') <= 1
    return { ...judge(world, () => true), follows: isTold && toldOnce && /\bmaps\b/.test(last?.text ?? '') }
  },

  async compaction(world, open) {
    await using chat = await open()
    if (chat.compact === undefined) return undefined
    await say(world, chat, [load(chat, 'refund'), DONE])
    editRefund(world)
    await chat.compact()
    world.server.requests.splice(0)
    await say(world, chat, [EDIT, DONE], () => addMaps(world))
    const [first] = world.server.requests
    const hasLive = count(first, LIVE_BODY) === 1 && !(first?.text.includes('form ONE') ?? true)
    return { ...judge(world, news => /\bmaps\b/.test(news)), follows: hasLive }
  },
}

function addMaps(world: World): void {
  world.folder.writeSkill('maps')
}

function editRefund(world: World): void {
  world.folder.writeSkill('refund', { body: LIVE_BODY })
}

function moduleOf(word: string): string {
  return `import { defineCommand } from 'skillstoke/command'
export const tell = defineCommand({
  name: 'tell',
  description: 'Tells a word.',
  input: { type: 'object', properties: {} },
  run: () => '${word}',
})
`
}

function load(
  { loadTool = { name: 'skill', field: 'name' } }: Pick<HarnessConversation, 'loadTool'>,
  skill: string,
): Reply {
  return { kind: 'call', name: loadTool.name, input: { [loadTool.field]: skill } }
}

async function say(
  world: World,
  chat: Pick<HarnessConversation, 'say'>,
  replies: readonly Reply[],
  change: () => void = () => undefined,
): Promise<void> {
  world.prepare(change)
  world.server.play(...replies)
  await chat.say('Begin.')
}

/** Judges a turn by its last request, which is the first request after the change. */
function judge({ server }: World, hasNews: (news: string) => boolean): Finding {
  const last = server.requests.at(-1)
  return {
    follows: last !== undefined && hasNews(addedText(server.requests.at(-2), last)),
    keepsPrefix: countBrokenPrefixes(server.requests) === 0,
  }
}

function count(request: ModelRequest | undefined, text: string): number {
  return (request?.text.split(text).length ?? 1) - 1
}

function fail(): never {
  throw new Error('the agent sent no request')
}
