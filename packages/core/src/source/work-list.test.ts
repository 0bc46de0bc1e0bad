import { describe, expect, test } from 'vitest'
import { createDirectoryNode, type DirectoryNode } from './mirror.ts'
import { WorkList } from './work-list.ts'

function folder(name: string, parent?: DirectoryNode): DirectoryNode {
  const node = createDirectoryNode({ name, parent, isLink: false, isDiscoverable: true })
  node.skillFile = 'SKILL.md'
  return node
}

const keep = (): void => undefined

describe('WorkList marks', () => {
  test('announce() changes a suspected directory to announced, and mark() leaves a suspected directory suspected', () => {
    const work = new WorkList()
    const node = folder('pdf')
    work.suspect(node)
    work.mark(node)
    expect(work.isAnnounced(node)).toBe(false)
    work.announce(node)
    work.suspect(node)
    expect(work.isAnnounced(node)).toBe(true)
  })

  test('takeMarked() removes all marks, but rejected folders stay rejected', () => {
    const work = new WorkList()
    const node = folder('pdf')
    work.announce(node)
    work.reject(node)
    expect([...work.takeMarked()]).toEqual([node])
    expect(work.hasMoving).toBe(false)
    expect([...work.rejected()]).toEqual([node])
  })

  test('a scan neither waits for a removed directory nor withdraws the result of this directory', () => {
    const work = new WorkList()
    const node = folder('pdf')
    work.announce(node)
    node.isAttached = false
    expect(work.isWaiting()).toBe(false)
    const withdrawn: DirectoryNode[] = []
    work.endReading(each => withdrawn.push(each))
    expect([withdrawn, work.hasMoving]).toEqual([[], false])
  })
})

describe('WorkList attempts', () => {
  test('a folder that is still rejected when the scan ends becomes restless, including its subfolders', () => {
    const work = new WorkList()
    const node = folder('pdf')
    const inside = createDirectoryNode({ name: 'a', parent: node, isLink: false, isDiscoverable: true })
    work.announce(inside)
    work.reject(node)
    expect(work.isWaiting()).toBe(true)
    work.endReading(keep)
    work.announce(inside)
    expect([work.isRestless(inside), work.isWaiting()]).toEqual([true, false])
  })

  test('a restless folder becomes normal only after a scan without new marks in the folder', () => {
    const work = new WorkList()
    const node = folder('pdf')
    work.reject(node)
    work.endReading(keep)
    work.accept(node)
    expect([[...work.rejected()], work.isRestless(node)]).toEqual([[], true])
    work.announce(node)
    work.endReading(keep)
    expect(work.isRestless(node)).toBe(true)
    work.takeMarked()
    work.endReading(keep)
    expect(work.isRestless(node)).toBe(false)
  })

  test('a folder whose result is withdrawn at the deadline becomes restless', () => {
    const work = new WorkList()
    const node = folder('pdf')
    work.announce(node)
    work.endReading(each => work.reject(each))
    expect([[...work.rejected()], work.isRestless(node)]).toEqual([[node], true])
  })
})

test('if only a request has marked a directory, a scan does not wait for the directory and keeps the result of the directory', () => {
  const work = new WorkList()
  const node = folder('pdf')
  work.request(node)
  const withdrawn: DirectoryNode[] = []
  work.endReading(each => withdrawn.push(each), false)
  expect([work.isWaiting(), work.hasMoving, withdrawn]).toEqual([false, false, []])
  work.suspect(node)
  work.request(node)
  expect(work.isWaiting()).toBe(true)
  expect([...work.takeMarked(() => true)]).toEqual([])
  expect([...work.takeMarked()]).toEqual([node])
})

test('if a scan before the deadline rejects a folder, the next scan reads the folder again', () => {
  const work = new WorkList()
  const node = folder('pdf')
  work.reject(node)
  work.endReading(keep, false)
  expect([[...work.due()], work.isRestless(node)]).toEqual([[node], false])
})
