import { describe, expect, test } from 'vitest'
import { startDev } from './fixtures/dev.ts'
import { DevTerminal } from './fixtures/dev-terminal.ts'
import { GitRepository } from './fixtures/git-repository.ts'
import { skillText, TemporaryFolder } from './fixtures/skill-folder.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: the terminal gets this control sequence
const ERASED = /\u001b\[2K$/

describe('the key a of stoke dev', () => {
  test('asks the demo agent again and again while skills change, even if dev was started without an agent', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund', { body: 'Within 30 days.' })
    await using dev = new DevTerminal([
      folder.at('skills'),
      '--state',
      folder.at('state'),
      '--no-agent',
      '--verbose',
    ])
    await dev.printed(/h help, q quit/)
    expect(dev.output).not.toContain('turn 1')
    await dev.press('a', /ask: /)
    await dev.press('Use the refund skil', /refund skil/)
    // A change is printed above the line that the user writes, which stays.
    const before = dev.output.length
    folder.writeSkill('skills/refund', { body: 'Within 60 days.' })
    await dev.printed(/LIVE refund[\s\S]*generation 1 -> 2[\s\S]*ask: Use the refund skil/, before)
    await dev.press('l\r', /turn 1 you: Use the refund skill[\s\S]*agent: .*Within 60 days\./)
    const changed = dev.output.length
    folder.writeSkill('skills/refund', { body: 'Within 90 days.' })
    await dev.printed(/session dev: notice queued for turn 2/, changed)
    // Typed at once, as a paste or a fast typist does. Keys after the line are not commands.
    await dev.press(
      'aAnd the refund now?\rq',
      /turn 2 you: And the refund now\?[\s\S]*told you loaded refund[\s\S]*agent: .*Within 90 days\./,
    )
    // The key up brings the last question back.
    await dev.press('a\u001b[A\r', /turn 3 you: And the refund now\?[\s\S]*agent: .*Within 90 days\./)
    expect(dev.output).not.toContain('CHANGED')
    await dev.press('q', /stopped/)
    expect(await dev.ended()).toBe(0)
  })

  test('Esc and an empty line cancel the question, and Ctrl-C at the prompt stops dev', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund', { body: 'Within 30 days.' })
    await using dev = new DevTerminal([folder.at('skills'), '--state', folder.at('state'), '--verbose'])
    await dev.printed(/turn 1 you: Use the skill "refund"[\s\S]*agent: .*Within 30 days\./)
    await dev.press('aq', /ask: \S*q$/)
    await dev.press('\u001b', ERASED)
    await dev.press('h', /q quits/)
    await dev.press('a', /ask: /)
    await dev.press('  \r', /\n/)
    await dev.press('h', /q quits/)
    expect(dev.output).not.toContain('turn 2')
    await dev.press('a', /ask: /)
    await dev.press('unfinished', /unfinished/)
    await dev.press('\u0003', /stopped/)
    expect(await dev.ended()).toBe(0)
    expect(dev.output).not.toContain('turn 2')
  })

  test('the start fits a small terminal, a save is one line, and v shows each step', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund', { body: 'Within 30 days.' })
    await using dev = new DevTerminal([folder.at('skills'), '--state', folder.at('state')])
    await dev.printed(/agent ✓ cache kept: .*Within 30 days\./)
    const [start = ''] = dev.output.split('keys: ')
    const lines = start.trimEnd().split(/\r?\n/)
    expect(lines.length).toBeLessThanOrEqual(10)
    expect(lines.filter(line => line.length > 80 && !line.includes(folder.path))).toEqual([])
    expect(lines[1]).toMatch(/page http:/)
    const saved = dev.output.length
    folder.writeSkill('skills/refund', { body: 'Within 60 days.' })
    await dev.printed(
      /\d\d:\d\d:\d\d refund changed: text, \d+ ms, reaches 1 conversation \(\+\d+ tokens\)\s+agent ✓ cache kept: .*Within 60 days\./,
      saved,
    )
    const broken = dev.output.length
    folder.write('skills/refund/SKILL.md', '---\nname: refund\ndescription: "open\n---\nBody.\n')
    await dev.printed(
      /\d\d:\d\d:\d\d refund broken: .*SKILL\.md:3:14: [\s\S]*The text before it stays live\./,
      broken,
    )
    expect(dev.output.slice(saved)).not.toMatch(/generation|prefix|turn \d/)
    await dev.press('v', /details are on/)
    const detailed = dev.output.length
    folder.writeSkill('skills/refund', { body: 'Within 90 days.' })
    await dev.printed(/LIVE refund[\s\S]*generation \d+ -> \d+[\s\S]*prefix unchanged/, detailed)
    await dev.press('v', /details are off/)
  })
})

describe('the demo agent of stoke dev', () => {
  test('the start names the skill that the question of the agent is about', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/orders')
    folder.writeSkill('skills/refund', { body: 'Within 30 days.' })
    const args = [folder.at('skills'), '--state', folder.at('state'), '--ask', 'refund?']
    await using dev = new DevTerminal(args)
    await dev.printed(/edit \S+refund\/SKILL\.md; agents follow[\s\S]*agent .*Within 30 days\./)
  })

  test('the agent waits for the first skill while everything waits for approval', async () => {
    using folder = new TemporaryFolder()
    const repository = new GitRepository(folder.at('team.git'))
    repository.commit({ 'refund/SKILL.md': skillText('refund', { body: 'Within 30 days.' }) })
    const state = folder.at('state')
    await using dev = await startDev({
      root: folder.at('none'),
      state,
      args: ['--source', `file://${repository.directory}`],
    })
    const [waiting] = (await dev.client.pending()).skills
    await dev.client.decide({ verb: 'approve', skill: 'refund', revision: waiting?.revision ?? '' })
    await dev.printed(/turn 1 you: Use the skill "refund"\.[\s\S]*agent: .*Within 30 days\./)
    expect(dev.output()).not.toContain('I see no skills')
  })
})
