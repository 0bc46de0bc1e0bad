import type { ComponentChildren } from 'preact'
import { FleetView } from './fleet-view.tsx'
import { Header } from './header.tsx'
import { Help } from './help.tsx'
import { route } from './route.ts'
import { Sessions } from './sessions.tsx'
import { SkillDetailPane } from './skill-detail.tsx'
import { SkillList } from './skill-list.tsx'
import { Sources } from './sources.tsx'
import { connection, selectedRow, status } from './store.ts'
import { Timeline } from './timeline.tsx'

export function App(): ComponentChildren {
  if (connection.value === 'refused') return <Refused />
  return (
    <>
      <Header />
      <main class={`view view-${route.value.view}`}>
        {status.value === undefined ? <p class="empty">Waiting for the dev server …</p> : <View />}
      </main>
      <Help />
    </>
  )
}

function View(): ComponentChildren {
  const { value } = route
  switch (value.view) {
    case 'skills':
      return (
        <div class={value.name === undefined ? 'split' : 'split has-detail'}>
          <SkillList />
          {value.name === undefined ? (
            <p class="empty wide-only">Choose a skill to see its served revision.</p>
          ) : (
            <SkillDetailPane key={value.name} name={value.name} row={selectedRow.value} />
          )}
        </div>
      )
    case 'timeline':
      return <Timeline />
    case 'sessions':
      return <Sessions />
    case 'sources':
      return <Sources />
    case 'fleet':
      return <FleetView />
    default:
      return value satisfies never
  }
}

function Refused(): ComponentChildren {
  return (
    <main class="refused">
      <h1>Skillstoke</h1>
      <p role="alert">
        This page needs the token of the running dev server. Open the address that <code>stoke dev</code>{' '}
        printed in the terminal, or press <kbd>o</kbd> there.
      </p>
    </main>
  )
}
