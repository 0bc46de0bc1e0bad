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

  async commands(world, open) {
    world.folder.write('refund/scripts/tell.js', moduleOf('ALPHA'))
    await using chat = await open({ commandTools: true })
    if (chat.canRunScripts !== true || chat.hasFixedTools === true) return undefined
    const { requests } = world.server
    await say(world, chat, [load(chat, 'refund'), EDIT, DONE])
    const before = requests.length
    await say(world, chat, [{ kind: 'call', name: 'refund__tell', input: {} }, DONE])
    const turn = requests.slice(before)
    const hasTool = ({ parts: [tools] }: ModelRequest): boolean => tools?.includes('refund__tell') === true
    const isConstant = turn.every(hasTool) && !requests.slice(0, before).some(hasTool)
    const withoutTools = requests.map(request => ({ ...request, parts: request.parts.slice(1) }))
    return {
      follows: turn.length === 2 && isConstant && count(turn.at(-1), 'ALPHA') === 1,
      keepsPrefix: countBrokenPrefixes(turn) + countBrokenPrefixes(withoutTools) === 0,
    }
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
    let follows: boolean
    {
      await using chat = await open()
      await say(world, chat, [DONE])
      const last = world.server.requests.at(-1) ?? fail()
      const isTold = /\brefund\b/.test(addedText(world.server.requests.at(-2), last))
      follows = isTold && count(last, 'added: maps') <= 1 && /\bmaps\b/.test(last.text)
    }
    // A new description does not change what the model loaded.
    world.folder.writeSkill('refund', { body: LIVE_BODY, description: 'Pays money back.' })
    await using chat = await open()
    await say(world, chat, [DONE])
    const finding = judge(world, news => /Pays money back/.test(news) && !/you loaded refund/.test(news))
    return { ...finding, follows: follows && finding.follows }
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

  async stop(world, open) {
    await using chat = await open()
    if (chat.canStop !== true) return undefined
    await say(world, chat, [DONE])
    const controller = new AbortController()
    world.prepare(() => {
      addMaps(world)
      controller.abort()
    })
    world.server.play(load(chat, 'refund'), EDIT, DONE)
    // Some SDKs reject, and others end the turn.
    await chat.say('Begin.', controller.signal).catch(() => undefined)
    return await judgeAfter(world, chat)
  },

  async error(world, open) {
    await using chat = await open()
    await say(world, chat, [DONE])
    world.prepare(() => addMaps(world))
    world.server.play(load(chat, 'refund'), EDIT, { kind: 'status', status: 400 })
    await chat.say('Begin.').catch(() => undefined)
    return await judgeAfter(world, chat)
  },

  async regenerate(world, open) {
    await using chat = await open()
    if (chat.takeBack === undefined) return undefined
    await say(world, chat, [DONE])
    await say(world, chat, [load(chat, 'refund'), EDIT, DONE], () => addMaps(world))
    await chat.takeBack(1)
    return await judgeAfter(world, chat)
  },

  async edit(world, open) {
    await using chat = await open()
    if (chat.takeBack === undefined) return undefined
    await say(world, chat, [DONE])
    await say(world, chat, [load(chat, 'refund'), EDIT, DONE], () => addMaps(world))
    await say(world, chat, [DONE])
    await chat.takeBack(2)
    return await judgeAfter(world, chat)
  },

  async overlap(world, open) {
    await using chat = await open()
    if (chat.canOverlap !== true) return undefined
    await say(world, chat, [load(chat, 'refund'), DONE])
    world.prepare(() => {
      addMaps(world)
      editRefund(world)
    })
    world.server.play(EDIT, EDIT, DONE, DONE)
    const before = world.server.requests.length
    await Promise.all([chat.say('Question one.'), chat.say('Question two.')])
    const runs = world.server.requests.slice(before)
    const told = runs.filter(request => hasNewsOnce(request))
    await say(world, chat, [DONE])
    // A thread that keeps both turns has the news of both.
    const notices = count(world.server.requests.at(-1), 'added: maps')
    return {
      follows: runs.length === 4 && told.length >= 2 && notices >= 1 && notices <= 2,
      keepsPrefix: runs.filter(run => !isContinued(run, world.server.requests)).length === 0,
    }
  },

  async fork(world, open) {
    await using chat = await open()
    if (chat.fork === undefined) return undefined
    await say(world, chat, [load(chat, 'refund'), EDIT, DONE], () => addMaps(world))
    const copy = await chat.fork()
    const before = world.server.requests.length
    editRefund(world)
    const found: Finding[] = []
    for (const each of [copy, chat, copy]) {
      await say(world, each, [DONE])
      const [last, common] = [world.server.requests.at(-1), world.server.requests[before - 1]]
      const pair = [common, last].filter(request => request !== undefined)
      found.push({ follows: hasNewsOnce(last), keepsPrefix: countBrokenPrefixes(pair) === 0 })
    }
    return {
      follows: found.every(({ follows }) => follows),
      keepsPrefix: found.every(({ keepsPrefix }) => keepsPrefix),
    }
  },
}

/** True if a request has the news about `maps` and about the loaded skill exactly once. */
function hasNewsOnce(request: ModelRequest | undefined): boolean {
  return count(request, 'added: maps') === 1 && count(request, 'you loaded refund') === 1
}

/** True if a request begins with the whole of another request, or is the first of its run. */
function isContinued(request: ModelRequest, requests: readonly ModelRequest[]): boolean {
  return requests.some(
    other => other.parts.length < request.parts.length && countBrokenPrefixes([other, request]) === 0,
  )
}

/**
 * Edits the skill that an unusual turn loaded, sends two messages, and judges the requests: what the history still
 * contains of that turn is up to date, and nothing is reported twice.
 */
async function judgeAfter(world: World, chat: Pick<HarnessConversation, 'say'>): Promise<Finding> {
  const { requests } = world.server
  const first = requests[0]
  editRefund(world)
  await say(world, chat, [DONE])
  const next = requests.at(-1)
  await say(world, chat, [DONE])
  const last = requests.at(-1)
  const isRight = (request: ModelRequest | undefined): boolean =>
    /\bmaps\b/.test(request?.text ?? '') &&
    count(request, 'added: maps') <= 1 &&
    count(request, 'you loaded refund') === (count(request, 'form ONE') > 0 ? 1 : 0)
  const chain = [first, next, last].filter(request => request !== undefined)
  return { follows: isRight(next) && isRight(last), keepsPrefix: countBrokenPrefixes(chain) === 0 }
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
