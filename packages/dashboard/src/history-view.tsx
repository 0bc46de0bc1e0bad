import type { ComponentChildren } from 'preact'
import { Answer } from './answer.tsx'
import { client } from './client.ts'
import { Digest } from './digest.tsx'
import { shortDigest } from './format.ts'
import { Moment } from './moment.tsx'
import { Table } from './table.tsx'
import { useAction } from './use-action.ts'
import { useLoaded } from './use-loaded.ts'

interface HistoryViewProps {
  readonly name: string
  /** The served revision. */
  readonly serving: string | null
  /** Any text that is different after each change of the skill. A new text makes the view load again. */
  readonly version: string
}

/** Renders the recorded revisions of a skill. Each revision has a button that rolls the skill back to this revision. */
export function HistoryView({ name, serving, version }: HistoryViewProps): ComponentChildren {
  const history = useLoaded(() => client.history(name), [name, version])
  const { isRunning, failure, run } = useAction()
  return (
    <Answer of={history}>
      {({ records }) =>
        records.length === 0 ? (
          <p class="empty">There are no earlier revisions.</p>
        ) : (
          <>
            {failure !== undefined && <p role="alert">{failure}</p>}
            <div class="scrolls">
              <Table
                rows={records}
                keyOf={({ at, event, revision }) => `${at} ${event} ${revision}`}
                columns={{
                  Revision: ({ revision }) => (revision === undefined ? '–' : <Digest of={revision} />),
                  Event: ({ event }) => event,
                  Time: ({ at }) => <Moment at={at} />,
                  Cause: ({ cause }) => cause,
                  By: ({ author }) =>
                    author.name === undefined ? author.kind : `${author.name} (${author.kind})`,
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
    </Answer>
  )
}
