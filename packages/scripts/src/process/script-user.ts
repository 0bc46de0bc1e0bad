import { readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { SkillError } from '@skillstoke/core'
import type { GrantedPath } from '../access/granted-path.ts'

/** A user and a group as which a script runs. */
export interface ScriptUser {
  readonly uid: number
  readonly gid: number
}

/** The user that Linux shows for unknown users. No file should belong to this user. */
export const NOBODY: ScriptUser = { uid: 65_534, gid: 65_534 }

/**
 * Whether this process runs as the superuser of the machine. A superuser without capabilities still has the rights of an
 * owner, for example on kernel settings and on sockets that check the user of their peer.
 */
export function isSuperuser(): boolean {
  return process.getuid?.() === 0 && isMappedToItself()
}

/** Whether user 0 is user 0 outside too. In a rootless container, user 0 is an ordinary user of the machine. */
function isMappedToItself(): boolean {
  try {
    return /^ *0 +0 /m.test(readFileSync('/proc/self/uid_map', 'utf8'))
  } catch {
    return true
  }
}

/**
 * Returns the user as which a script of a superuser runs in a sandbox: the owner of the granted folders, so that the
 * script can use these folders and new files belong to their owner; otherwise nobody. Folders that the script may write
 * to decide first. Returns `undefined` if such a folder belongs to the superuser.
 * @throws {SkillError} SCRIPT_REFUSED when the script may write to folders of different owners
 */
export async function findScriptUser(
  writable: readonly GrantedPath[],
  readable: readonly GrantedPath[],
): Promise<ScriptUser | undefined> {
  await refuseOtherOwner(writable)
  for (const granted of [writable, readable]) {
    const found = await Promise.all(granted.map(({ real }) => stat(real).catch(() => undefined)))
    const owners = found.filter(each => each !== undefined)
    const [first] = owners
    if (first === undefined) continue
    return owners.some(({ uid }) => uid === 0) ? undefined : { uid: first.uid, gid: first.gid }
  }
  return NOBODY
}

/** A script runs as one user, and that user could not write to the folders of another owner. */
async function refuseOtherOwner(writable: readonly GrantedPath[]): Promise<void> {
  let first: { readonly real: string; readonly uid: number } | undefined
  for (const { grant, real } of writable) {
    const uid = (await stat(real).catch(() => undefined))?.uid
    if (uid === undefined) continue
    first ??= { real, uid }
    if (uid !== first.uid)
      throw new SkillError(
        'SCRIPT_REFUSED',
        `${grant} is granted, but ${real} belongs to user ${uid}, and ${first.real} to user ${first.uid}; a host of root runs a script as one user, so grant folders of one owner`,
      )
  }
}
