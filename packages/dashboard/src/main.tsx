import { render } from 'preact'
import { ApiClient, ApiError } from 'skillstoke/client'
import { App } from './app.tsx'
import { listenForKeys } from './keyboard.ts'
import { followAddress } from './route.ts'
import { showHiddenEverywhere } from './show-hidden.ts'
import { apply, connection } from './store.ts'

const KEY = 'skillstoke-key'

const client = new ApiClient({ url: location.origin, key: () => localStorage.getItem(KEY) })

await exchangeToken()
addEventListener('hashchange', () => void onNewToken())
showHiddenEverywhere()
followAddress()
listenForKeys()
render(<App client={client} />, document.getElementById('app') as HTMLElement)
await follow()

/** The address was given to a page that is open already: it starts over with the token. */
async function onNewToken(): Promise<void> {
  if (await exchangeToken()) location.reload()
}

/** The address that `dev` prints carries the token; it becomes a cookie and a key, and leaves the address. */
async function exchangeToken(): Promise<boolean> {
  const [, token] = /^#token=(.+)$/.exec(location.hash) ?? []
  if (token === undefined) return false
  history.replaceState(null, '', '#/skills')
  try {
    localStorage.setItem(KEY, (await client.login(decodeURIComponent(token))).key)
  } catch (thrown) {
    // What is wrong with the token shows at the first request that needs it.
    if (!(thrown instanceof ApiError)) throw thrown
  }
  return true
}

/**
 * A browser gives one host few connections, so a page that nobody looks at gives its own back, and begins with the present
 * state when it is looked at again.
 */
async function follow(): Promise<void> {
  const onConnection = (isConnected: boolean): void => {
    connection.value = isConnected ? 'live' : 'lost'
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
