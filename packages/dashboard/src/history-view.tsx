import type { ComponentChildren } from 'preact'
import type { ApiClient } from 'skillstoke/client'
import { shortDigest } from './format.ts'
import { Moment } from './moment.tsx'
import { useAction } from './use-action.ts'
import { useLoaded } from './use-loaded.ts'

interface HistoryViewProps {
  readonly name: string
  /** The served revision. */
  readonly serving: string | null
  /** Any text that is different after each change of the skill. A new text makes the view load again. */
  readonly version: string
  readonly client: ApiClient
}

/** Renders the recorded revisions of a skill. Each revision has a button that rolls the skill back to this revision. */
export function HistoryView({ name, serving, version, client }: HistoryViewProps): ComponentChildren {
  const history = useLoaded(() => client.history(name), [name, version])
  const { isRunning, failure, run } = useAction()
  if (history === undefined) return <p class="empty">Loading …</p>
  if ('failure' in history) return <p role="alert">{history.failure}</p>
  const { records } = history.value
  if (records.length === 0) return <p class="empty">There are no earlier revisions.</p>
  return (
    <>
      {failure !== undefined && <p role="alert">{failure}</p>}
      <div class="scrolls">
        <table class="history">
          <thead>
            <tr>
              <th scope="col">Revision</th>
              <th scope="col">Event</th>
              <th scope="col">Time</th>
              <th scope="col">Cause</th>
              <th scope="col">By</th>
              <th scope="col">Note</th>
              <th scope="col">
                <span class="hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {records.map(({ revision, event, at, cause, author, note }) => (
              <tr key={`${at} ${event} ${revision}`}>
                <td data-label="Revision">
                  {revision === undefined ? '–' : <code title={revision}>{shortDigest(revision)}</code>}
                </td>
                <td data-label="Event">{event}</td>
                <td data-label="Time">
                  <Moment at={at} />
                </td>
                <td data-label="Cause">{cause}</td>
                <td data-label="By">
                  {author.name === undefined ? author.kind : `${author.name} (${author.kind})`}
                </td>
                <td data-label="Note">{note}</td>
                <td>
                  {event === 'live' && revision !== undefined && revision !== serving && (
                    <button
                      type="button"
                      class="plain"
                      disabled={isRunning}
                      onClick={() => run(() => client.rollback(name, revision))}
                    >
                      Roll back <span class="hidden">to revision {shortDigest(revision)}</span>
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  )
}
