import { expect, test } from 'vitest'
import { HeldFolders } from './held-folders.ts'

test('release() of a moved folder ends only the watches of that folder and of the folders below it', () => {
  const held = new HeldFolders()
  const released: string[] = []
  const add = (path: string): (() => void) => {
    const forget = held.add(path, () => {
      forget()
      released.push(path)
    })
    return forget
  }
  for (const path of ['/skills', '/skills/pdf', '/skills/pdf/scripts', '/skills/pdf-tools']) add(path)
  add('/skills/pdf/closed')()
  held.release('/skills/pdf')
  held.release('/skills/pdf')
  expect(released).toEqual(['/skills/pdf', '/skills/pdf/scripts'])
})
