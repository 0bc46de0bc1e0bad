import { render } from 'preact'
import { ApiClient, ApiError } from 'skillstoke/client'
import { App } from './app.tsx'
import { listenForKeys } from './keyboard.ts'
import { followAddress } from './route.ts'
import { apply, connection } from './store.ts'

const client = new ApiClient({ url: location.origin })

await exchangeToken()
addEventListener('hashchange', () => void onNewToken())
followAddress()
listenForKeys()
render(<App client={client} />, document.getElementById('app') as HTMLElement)
await follow()

/** The address was given to a page that is open already: it starts over with the token. */
async function onNewToken(): Promise<void> {
  if (await exchangeToken()) location.reload()
}

/** The address that `dev` prints carries the token; it becomes a cookie and leaves the address. */
async function exchangeToken(): Promise<boolean> {
  const [, token] = /^#token=(.+)$/.exec(location.hash) ?? []
  if (token === undefined) return false
  history.replaceState(null, '', '#/skills')
  try {
    await client.login(decodeURIComponent(token))
  } catch (thrown) {
    // What is wrong with the token shows at the first request that needs it.
    if (!(thrown instanceof ApiError)) throw thrown
  }
  return true
}

async function follow(): Promise<void> {
  try {
    const onConnection = (isConnected: boolean): void => {
      connection.value = isConnected ? 'live' : 'lost'
    }
    for await (const event of client.events({ onConnection })) apply(event)
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown
    connection.value = 'refused'
  }
}
