import type { ComponentChildren } from 'preact'
import type { ApiClient } from 'skillstoke/client'
import { DataTable } from './data-table.tsx'
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
        <DataTable
          rows={records}
          keyOf={({ at, event, revision }) => `${at} ${event} ${revision}`}
          columns={{
            Revision: ({ revision }) =>
              revision === undefined ? '–' : <code title={revision}>{shortDigest(revision)}</code>,
            Event: ({ event }) => event,
            Time: ({ at }) => <Moment at={at} />,
            Cause: ({ cause }) => cause,
            By: ({ author }) => (author.name === undefined ? author.kind : `${author.name} (${author.kind})`),
            Note: ({ note }) => note,
          }}
          actions={({ event, revision }) =>
            event === 'live' &&
            revision !== undefined &&
            revision !== serving && (
              <button
                type="button"
                class="plain"
                disabled={isRunning}
                onClick={() => run(() => client.rollback(name, revision))}
              >
                Roll back <span class="hidden">to revision {shortDigest(revision)}</span>
              </button>
            )
          }
        />
      </div>
    </>
  )
}
