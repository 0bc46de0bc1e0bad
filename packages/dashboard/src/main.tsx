import { render } from 'preact'
import { ApiError } from 'skillstoke/client'
import { App, followTitle } from './app.tsx'
import { client, logIn } from './client.ts'
import { listenForKeys } from './keyboard.ts'
import { showHiddenEverywhere } from './parts/show-hidden.ts'
import { followAddress } from './route.ts'
import { apply, connection, lostAt } from './store.ts'
import { applyTheme } from './theme.ts'

applyTheme()
await exchangeToken()
addEventListener('hashchange', () => void onNewToken())
showHiddenEverywhere()
followAddress()
followTitle()
listenForKeys()
render(<App />, document.getElementById('app') as HTMLElement)
await follow()

/** Reloads the page if its address gets a new token. */
async function onNewToken(): Promise<void> {
  if (await exchangeToken()) location.reload()
}

/** Logs in with the token in the address, and removes the token from the address. */
async function exchangeToken(): Promise<boolean> {
  const [, token] = /^#token=(.+)$/.exec(location.hash) ?? []
  if (token === undefined) return false
  history.replaceState(null, '', '#/')
  try {
    await logIn(decodeURIComponent(token))
  } catch (thrown) {
    // Ignores the error here, because the next request to the server fails too and reports the problem.
    if (!(thrown instanceof ApiError)) throw thrown
  }
  return true
}

/**
 * Receives the server's events while the page is visible. A hidden page closes its connection, because browsers allow
 * few connections per host. When the page becomes visible again, it first receives the present state.
 */
async function follow(): Promise<void> {
  const onConnection = (isConnected: boolean): void => {
    connection.value = isConnected ? 'live' : 'lost'
    lostAt.value = isConnected ? undefined : (lostAt.value ?? new Date())
  }
  try {
    for (;;) {
      await untilVisibility('visible')
      const hidden = new AbortController()
      void untilVisibility('hidden').then(() => hidden.abort())
      for await (const event of client.events({ onConnection, signal: hidden.signal })) apply(event)
    }
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown
    connection.value = 'refused'
  }
}

async function untilVisibility(wanted: DocumentVisibilityState): Promise<void> {
  while (document.visibilityState !== wanted)
    await new Promise(resolve => document.addEventListener('visibilitychange', resolve, { once: true }))
}
