import { ApiClient } from 'skillstoke/client'

const KEY = 'skillstoke-key'

/** The client of the dev server that served this page. */
export const client = new ApiClient({ url: location.origin, key: () => localStorage.getItem(KEY) })

/** Exchanges the token of the printed address for the key of this browser. */
export async function logIn(token: string): Promise<void> {
  localStorage.setItem(KEY, (await client.login(token)).key)
}
