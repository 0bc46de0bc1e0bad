import { describe, expect, test } from 'vitest'
import { DevTerminal } from './fixtures/dev-terminal.ts'
import { TemporaryFolder } from './fixtures/skill-folder.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: the terminal gets this control sequence
const ERASED = /\u001b\[2K$/

describe('the key a of stoke dev', () => {
  test('asks the demo agent again and again while skills change, even if dev was started without an agent', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('skills/refund', { body: 'Within 30 days.' })
    await using dev = new DevTerminal([folder.at('skills'), '--state', folder.at('state'), '--no-agent'])
    await dev.printed(/a ask the agent, q quit/)
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
    await using dev = new DevTerminal([folder.at('skills'), '--state', folder.at('state')])
    await dev.printed(/turn 1 you: Use the skill "refund"[\s\S]*agent: .*Within 30 days\./)
    await dev.press('aq', /ask: \S*q$/)
    await dev.press('\u001b', ERASED)
    await dev.press('h', /keys: h help/)
    await dev.press('a', /ask: /)
    await dev.press('  \r', /\n/)
    await dev.press('h', /keys: h help/)
    expect(dev.output).not.toContain('turn 2')
    await dev.press('a', /ask: /)
    await dev.press('unfinished', /unfinished/)
    await dev.press('\u0003', /stopped/)
    expect(await dev.ended()).toBe(0)
    expect(dev.output).not.toContain('turn 2')
  })
})
