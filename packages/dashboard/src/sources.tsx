import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { NotSkillList, SourceState } from 'skillstoke/client'
import { client } from './client.ts'
import { Fact } from './fact.tsx'
import { formatCount, formatTime, plural } from './format.ts'
import { status } from './store.ts'
import { useLoaded } from './use-loaded.ts'

const MAX_NOT_SKILLS = 50
// Interval at which the page polls the sources. Polling is needed because a sweep that finds no change sends no event.
const REFRESH_MS = 5_000

/** Renders the sources and their states. */
export function Sources(): ComponentChildren {
  const round = useSignal(0)
  useEffect(() => {
    const timer = setInterval(() => round.value++, REFRESH_MS)
    return () => clearInterval(timer)
  }, [])
  const asked = useLoaded(() => client.status(), [round.value, status.value?.generation.number])
  const looked = useLoaded(() => client.notSkills(), [status.value?.generation.number])
  const found = looked !== undefined && 'value' in looked ? looked.value.found : []
  const sources = (asked !== undefined && 'value' in asked ? asked.value : status.value)?.sources ?? []
  return (
    <section class="sources" aria-labelledby="sources-title">
      <h2 id="sources-title">Sources</h2>
      <ul>
        {sources.map(source => (
          <Source
            key={source.label}
            source={source}
            notSkills={found.filter(each => each.isExpected && each.source === source.label)}
          />
        ))}
      </ul>
    </section>
  )
}

interface SourceProps {
  readonly source: SourceState
  /** Files and folders that are not skills, although a person would expect them to be skills. */
  readonly notSkills: NotSkillList['found']
}

function Source({ source, notSkills }: SourceProps): ComponentChildren {
  const {
    label,
    path,
    trust,
    mode,
    reason,
    skills,
    version,
    lastReadAt,
    lastError,
    lastErrorAt,
    nextReadMs,
    failures,
    diagnostics,
  } = source
  return (
    <li>
      <h3>
        {label}{' '}
        <span class={`badge ${lastError === undefined ? 'ok' : 'broken'}`}>
          {lastError === undefined ? 'ok' : 'failing'}
        </span>
      </h3>
      <dl class="facts-list">
        <Fact label="Place">
          <span class="path">{path}</span>
        </Fact>
        <Fact label="Trust">{trust === 'auto' ? 'changes go live' : 'changes wait for approval'}</Fact>
        <Fact label="Mode">
          {mode}
          {reason !== undefined && `: ${reason}`}
        </Fact>
        <Fact label="Skills">{formatCount(skills)}</Fact>
        {version !== undefined && (
          <Fact label="State">
            <code>{version.replace(/^sha256:/, '').slice(0, 10)}</code>
          </Fact>
        )}
        <Fact label="Read">
          {lastReadAt === undefined
            ? 'not yet in this process'
            : formatTime(new Date(lastReadAt).toISOString())}
        </Fact>
        {nextReadMs !== undefined && <Fact label="Next">in {describeWait(nextReadMs)}</Fact>}
        {lastErrorAt !== undefined && (
          <Fact label="Failed">
            {formatTime(new Date(lastErrorAt).toISOString())}
            {failures > 0 && `, ${formatCount(failures)} in a row`}
          </Fact>
        )}
      </dl>
      {lastError !== undefined && <p role="alert">{lastError}</p>}
      {diagnostics.length > 0 && (
        <ul class="findings" aria-label={`Findings of ${label}`}>
          {diagnostics.map(({ code, severity, message }) => (
            <li key={`${code} ${message}`} class={severity}>
              <strong>{severity}</strong>: {message} <code>{code}</code>
            </li>
          ))}
        </ul>
      )}
      {notSkills.length > 0 && (
        <ul class="findings" aria-label={`Not skills in ${label}`}>
          {notSkills.slice(0, MAX_NOT_SKILLS).map(({ location, message, fix }) => (
            <li key={location} class="info">
              <strong>{location}</strong> {message}; {fix}
            </li>
          ))}
          {notSkills.length > MAX_NOT_SKILLS && (
            <li class="info">and {formatCount(notSkills.length - MAX_NOT_SKILLS)} more</li>
          )}
        </ul>
      )}
    </li>
  )
}

function describeWait(ms: number): string {
  return ms < 90_000 ? plural(Math.round(ms / 1000), 'second') : plural(Math.round(ms / 60_000), 'minute')
}
