import {
  AGENTS,
  ALL_AGENTS,
  ALL_BLOBS,
  ALL_HEADS,
  ALL_LIVE,
  ALL_RECORDS,
  BLOBS,
  HEADS,
  RECORDS,
} from './fleet-subjects.ts'

/** The account that owns the streams, and the account of the agents. */
const ACCOUNTS = { owner: 'SKILLS', agents: 'AGENTS' } as const
/** How long the servers keep the way back for the answer to a batched get. */
const BATCH_THRESHOLD = '5s'

/** The account of one kind of program, and the subjects that it needs there. */
export interface FleetPermissions {
  readonly role: 'agent' | 'publisher' | 'administrator'
  readonly account: string
  readonly publish: readonly string[]
  readonly subscribe: readonly string[]
}

/**
 * Returns the subjects to grant to each kind of program. `<host>` stands for the host name of an agent with each dot
 * written as `=2E`. Each program uses the inbox prefix that its list names.
 *
 * @example
 * ```ts
 * import { describePermissions } from '@skillstoke/fleet'
 *
 * console.log(describePermissions().map(({ role }) => role)) // prints [ 'administrator', 'publisher', 'agent' ]
 * ```
 */
export function describePermissions(): readonly FleetPermissions[] {
  const get = (name: string): string => `$JS.API.DIRECT.GET.${name}`
  const ask = (request: string, names: readonly string[]): readonly string[] =>
    names.map(name => `$JS.API.STREAM.${request}.${name}`)
  const readHeads = [get(HEADS), get(`${HEADS}.>`)]
  const readAll = [...readHeads, get(BLOBS), get(`${BLOBS}.>`), get(RECORDS), get(AGENTS)]
  const streams = [HEADS, RECORDS, BLOBS, AGENTS]
  const subscribe = (name: string): readonly string[] => [ALL_LIVE, `_INBOX_${name}.>`]
  return [
    {
      role: 'administrator',
      account: ACCOUNTS.owner,
      publish: [
        ...['CREATE', 'UPDATE', 'INFO'].flatMap(request => ask(request, streams)),
        ...ask('MSG.DELETE', [RECORDS, BLOBS]),
        ...ask('MSG.GET', [HEADS]),
        ...readAll,
        ALL_HEADS,
      ],
      subscribe: subscribe('administrator'),
    },
    {
      role: 'publisher',
      account: ACCOUNTS.owner,
      publish: [
        ...ask('INFO', [HEADS, BLOBS]),
        ...ask('MSG.GET', [HEADS, RECORDS, BLOBS]),
        ...readAll,
        ALL_HEADS,
        ALL_RECORDS,
        ALL_BLOBS,
      ],
      subscribe: subscribe('publisher'),
    },
    {
      role: 'agent',
      account: ACCOUNTS.agents,
      publish: [...readHeads, get(`${BLOBS}.>`), '$KV.AG.<host>.>'],
      subscribe: subscribe('<host>'),
    },
  ]
}

/**
 * Returns the accounts of a fleet in the format of the configuration of nats-server. A server checks no permission for the
 * subject that a request names for its answer. So agents have an account of their own, which imports what they need: an
 * answer stays in the account of the program that asked.
 *
 * @example
 * ```ts
 * import { writeAccounts } from '@skillstoke/fleet'
 *
 * console.log(writeAccounts().split('\n')[0]) // prints accounts {
 * ```
 */
export function writeAccounts(): string {
  const { owner, agents } = ACCOUNTS
  const shared = listShared()
  const exports = shared.map(({ kind, subject, isBatch }) => {
    const response = isBatch ? `, response_type: stream, threshold: "${BATCH_THRESHOLD}"` : ''
    return `{ ${kind}: ${quote(subject)}${response}, accounts: [${agents}] }`
  })
  const imports = shared.map(
    ({ kind, subject }) => `{ ${kind}: { account: ${owner}, subject: ${quote(subject)} } }`,
  )
  const listUsers = (account: string): readonly Setting[] =>
    describePermissions()
      .filter(each => each.account === account)
      .map(({ role, publish, subscribe }) => ({
        nkey: `"<${role}>"`,
        permissions: { publish: publish.map(quote), subscribe: subscribe.map(quote) },
      }))
  const accounts = {
    [owner]: { jetstream: 'enabled', users: listUsers(owner), exports },
    [agents]: { users: listUsers(agents), imports },
  }
  return `accounts ${writeSetting(accounts).join('\n')}`
}

/** What the account of the agents imports: the subjects that agents use, for all hosts. */
function listShared(): readonly {
  readonly kind: 'service' | 'stream'
  readonly subject: string
  /** Whether several messages answer one request. */
  readonly isBatch: boolean
}[] {
  const agent = describePermissions().find(({ role }) => role === 'agent')
  const services = (agent?.publish ?? []).map(subject => ({
    kind: 'service' as const,
    subject: subject.includes('<host>') ? ALL_AGENTS : subject,
    isBatch: subject.endsWith(HEADS),
  }))
  return [...services, { kind: 'stream', subject: ALL_LIVE, isBatch: false }]
}

/** A setting of nats-server: text, a list, or a block. */
type Setting = string | readonly Setting[] | { readonly [name: string]: Setting }

/** Writes a setting, with a line for each item. */
function writeSetting(setting: Setting): readonly string[] {
  if (typeof setting === 'string') return [setting]
  if (isList(setting)) return ['[', ...indent(setting.flatMap(writeSetting)), ']']
  const lines = Object.entries(setting).flatMap(([name, value]) => {
    const isBlock = typeof value !== 'string' && !isList(value)
    const [first, ...rest] = writeSetting(value)
    return [`${name}${isBlock ? '' : ':'} ${first}`, ...rest]
  })
  return ['{', ...indent(lines), '}']
}

function isList(setting: Exclude<Setting, string>): setting is readonly Setting[] {
  return Array.isArray(setting)
}

function indent(lines: readonly string[]): readonly string[] {
  return lines.map(line => `  ${line}`)
}

function quote(subject: string): string {
  return JSON.stringify(subject)
}
