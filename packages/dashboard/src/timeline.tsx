import type { ComponentChildren } from 'preact'
import type { TimelineChange, TimelineEntry } from 'skillstoke/client'
import { formatTime, plural, shortDigest } from './format.ts'
import { toHash } from './route.ts'
import { timeline } from './store.ts'

/** Renders every generation since the start, newest first. */
export function Timeline(): ComponentChildren {
  return (
    <section class="timeline" aria-labelledby="timeline-title">
      <h2 id="timeline-title">Timeline</h2>
      {timeline.value.length === 0 && <p class="empty">Nothing has changed since the dev server started.</p>}
      <ol>
        {timeline.value.map(entry => (
          <Entry key={entry.generation.number} entry={entry} />
        ))}
      </ol>
    </section>
  )
}

function Entry({ entry }: { readonly entry: TimelineEntry }): ComponentChildren {
  const { at, generation, isDigestChanged, detectedMs, changes, problems, fixed, omitted } = entry
  return (
    <li>
      <p class="when">
        <time dateTime={at}>{formatTime(at)}</time> generation {generation.number}{' '}
        {isDigestChanged ? (
          <code>{shortDigest(generation.digest)}</code>
        ) : (
          'same digest: no served skill changed'
        )}
        {detectedMs !== null && `, detected in ${detectedMs} ms`}
      </p>
      <ul>
        {changes.map(change => (
          <li key={`${change.kind} ${change.name}`}>
            <span class={`badge ${change.kind}`}>{change.kind}</span> <SkillLink name={change.name} />{' '}
            {describe(change)}
          </li>
        ))}
        {problems.map(({ name, status, message, place, serving }) => (
          <li key={`${status} ${name} ${message}`}>
            <span class={`badge ${status}`}>{status}</span> <SkillLink name={name} /> {lineOf(place)}
            {message}
            {status === 'broken' && `; ${serving === null ? 'no revision' : shortDigest(serving)} stays live`}
          </li>
        ))}
        {fixed.map(name => (
          <li key={`fixed ${name}`}>
            <span class="badge ok">fixed</span> <SkillLink name={name} />
          </li>
        ))}
        {omitted > 0 && <li>and {plural(omitted, 'more skill')}</li>}
      </ul>
    </li>
  )
}

function SkillLink({ name }: { readonly name: string }): ComponentChildren {
  return <a href={toHash({ view: 'skills', name })}>{name}</a>
}

/** Converts the place of a diagnostic to words, for example `folder/SKILL.md:3:14` to `line 3, column 14: `. */
function lineOf(place: string): string {
  const [, line, column] = /:(\d+)(?::(\d+))?$/.exec(place) ?? []
  if (line === undefined) return ''
  return column === undefined ? `line ${line}: ` : `line ${line}, column ${column}: `
}

function describe({ from, to, facets }: TimelineChange): string {
  const revisions = [from, to].flatMap(each => (each === null ? [] : shortDigest(each))).join(' → ')
  return facets.length === 0 ? revisions : `${revisions}, ${facets.join(' and ')}`
}
