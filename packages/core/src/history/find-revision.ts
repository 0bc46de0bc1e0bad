import { SkillError } from '../errors.ts'
import { quote } from '../quote.ts'
import { type Digest, parseDigest } from '../skill/digest.ts'
import type { RevisionRecord } from './revision-log.ts'

/** The revisions of one folder, from which a text chooses one. */
export interface RevisionChoice {
  /** The steps of the folder, newest first. */
  readonly records: readonly RevisionRecord[]
  readonly serving: Digest | undefined
  /** Wall time in milliseconds since the epoch. */
  readonly now: number
}

const DAY_MS = 24 * 60 * 60 * 1000
const DATE = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d))?$/

/**
 * Returns the revision that a text means: a whole digest, its first digits, `-1` for the revision that was served before
 * the present one, or a date for the revision that was served at the end of that day in UTC.
 * @throws {SkillError} REVISION_NOT_FOUND; INVALID_OPTION when the text has none of these forms or is ambiguous
 */
export function findRevision(text: string, choice: RevisionChoice): Digest {
  if (/^-\d+$/.test(text)) return findBack(text, choice)
  const time = readTime(text, choice.now)
  return time === undefined ? findByDigits(text, choice) : findAt(text, time, choice)
}

/** Returns the steps that `-1`, `-2` and so on count, newest first. A revision that was served again is listed again. */
export function listServed(records: readonly RevisionRecord[]): readonly RevisionRecord[] {
  const served = records.filter(({ event, revision }) => event === 'live' && revision !== undefined)
  return served.filter(({ revision }, index) => revision !== served[index - 1]?.revision)
}

function findBack(text: string, { records, serving }: RevisionChoice): Digest {
  const served = listServed(records).map(({ revision }) => revision)
  const present = serving === undefined ? -1 : served.indexOf(serving)
  const revision = served[present - Number(text)]
  if (revision !== undefined) return revision
  const oldest = served.length - present - 1
  const known =
    oldest === 0 ? 'no earlier one is known' : `the oldest one is ${quote(`-${oldest}`)}, "log" lists them`
  throw new SkillError('REVISION_NOT_FOUND', `${quote(text)} is before the first known revision; ${known}`)
}

/** Returns the time at which the wanted revision was served; `undefined` if the text is no date. */
function readTime(text: string, now: number): number | undefined {
  if (text === 'yesterday') return now - (now % DAY_MS) - 1
  const [, day, minute] = DATE.exec(text) ?? []
  if (day === undefined) return undefined
  const time = Date.parse(`${day}T${minute ?? '00:00'}Z`)
  // A day that a month does not have is read as a day of the next month.
  if (Number.isNaN(time) || !new Date(time).toISOString().startsWith(day))
    throw new SkillError('INVALID_OPTION', `revision is ${quote(text)}; there is no such date`)
  return minute === undefined ? time + DAY_MS - 1 : time
}

function findAt(text: string, time: number, { records }: RevisionChoice): Digest {
  const steps = records.filter(({ event }) => event === 'live' || event === 'removed')
  const revision = steps.find(({ at }) => at <= time)?.revision
  if (revision !== undefined) return revision
  const first = steps.at(-1)?.at
  const begin =
    first === undefined ? 'is empty' : `begins at ${new Date(first).toISOString().slice(0, 16)} UTC`
  throw new SkillError(
    'REVISION_NOT_FOUND',
    `no revision was served at the time ${quote(text)}; the history ${begin}, "log" lists it`,
  )
}

function findByDigits(text: string, { records }: RevisionChoice): Digest {
  const wanted = text.replace(/^sha256:/, '').toLowerCase()
  if (!/^[0-9a-f]{4,64}$/.test(wanted))
    throw new SkillError(
      'INVALID_OPTION',
      `revision is ${quote(text)}; use at least 4 hexadecimal digits, or -1, yesterday or a date such as 2026-11-24`,
    )
  const known = new Set(records.flatMap(({ revision }) => revision ?? []))
  const matching = [...known].filter(revision => revision.slice('sha256:'.length).startsWith(wanted))
  const [only, another] = matching
  if (another !== undefined)
    throw new SkillError(
      'INVALID_OPTION',
      `several revisions begin with ${text}: ${matching.join(', ')}; use more digits`,
    )
  const revision = only ?? parseDigest(text)
  if (revision !== undefined) return revision
  throw new SkillError(
    'REVISION_NOT_FOUND',
    `no known revision begins with ${text}; "log" lists the known revisions`,
  )
}
