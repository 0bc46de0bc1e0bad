import type { ComponentChildren } from 'preact'
import type { SourceState } from 'skillstoke/client'
import { client } from '../client.ts'
import { Folded } from '../parts/card.tsx'
import { plural } from '../parts/format.ts'
import { Shape } from '../parts/icons.tsx'
import { Ago } from '../parts/time.tsx'
import { useValue } from '../parts/use-loaded.ts'
import { status } from '../store.ts'

const MAX_NOT_SKILLS = 10

/** Renders the folders and sources, how each is followed, and what in it is no skill. */
export function SourceList(): ComponentChildren {
  const { sources = [], generation } = status.value ?? {}
  const notSkills = useValue(() => client.notSkills(), [generation?.number])?.found ?? []
  return (
    <ul class="who">
      {sources.map(source => {
        const { label, path, failures, trust, lastReadAt } = source
        const odd = notSkills.filter(each => each.isExpected && each.source === label)
        return (
          <li key={label}>
            <Shape name={failures > 0 ? 'broken' : isMissing(source) ? 'quiet' : 'live'} />
            <div>
              <code>{path}</code>
              <br />
              <span class="m">{describe(source)}</span>
              {listFaults(source).map(fault => (
                <p key={fault}>{fault}</p>
              ))}
              {odd.length > 0 && (
                <Folded title={plural(odd.length, 'entry is no skill', 'entries are no skills')}>
                  {() => (
                    <ul aria-label={`Not skills in ${label}`}>
                      {odd.slice(0, MAX_NOT_SKILLS).map(({ location, message, fix }) => (
                        <li key={location}>
                          <code>{location}</code> {message}; {fix}
                        </li>
                      ))}
                    </ul>
                  )}
                </Folded>
              )}
            </div>
            {lastReadAt !== undefined && trust === 'review' ? <Ago at={lastReadAt} /> : <span />}
          </li>
        )
      })}
    </ul>
  )
}

function isMissing({ diagnostics }: SourceState): boolean {
  return diagnostics.some(({ code }) => code === 'ROOT_MISSING')
}

function describe(source: SourceState): string {
  const { skills, trust, failures, retryMs, mode } = source
  if (isMissing(source)) return 'Not there. It is looked for again.'
  const again = retryMs === undefined ? '' : ` It is asked again in ${Math.ceil(retryMs / 1_000)} s.`
  if (failures > 0) return `Cannot be read; what was read before stays live.${again}`
  const how = mode === 'polling' ? 'looked at again and again' : 'live when you save'
  return `${plural(skills, 'skill')}; ${trust === 'review' ? 'changes wait for approval' : how}`
}

function listFaults({
  lastError,
  failures,
  storeFault,
  diagnostics,
  reason,
}: SourceState): readonly string[] {
  const told = diagnostics.filter(({ code, severity }) => code !== 'ROOT_MISSING' && severity !== 'info')
  const all = [failures > 0 && lastError, storeFault, ...told.map(({ message }) => message), reason]
  return all.filter(fault => typeof fault === 'string')
}
