// The second machine of the example. Prints what it serves, and each notice that its conversation gets before a step.
// Ends when its standard input ends.
import { createSkillRuntime } from '@skillstoke/core'
import { openState } from '@skillstoke/core/node'
import { FleetReporter, fleetSource } from '@skillstoke/fleet'

const [servers = '', trustedKey = '', state = ''] = process.argv.slice(2)
const source = fleetSource({ servers, trustedKeys: [trustedKey] })
await using skills = await createSkillRuntime({ sources: [source], state: await openState(state) })
const reporter = new FleetReporter(source, { runtime: skills, host: 'machine-2', agent: 'support' })
const conversation = skills.session({ id: 'chat-1' })

let body: string | undefined
let isEnded = false
process.stdin.on('end', () => (isEnded = true)).resume()
while (!isEnded) {
  const notice = await conversation.update() // before each model call
  if (notice !== undefined) console.log(notice.text.replaceAll('\n', ' '))
  const newest = skills.current.find('refunds') && (await skills.load('refunds')).body.trim()
  if (newest !== undefined && newest !== body) {
    console.log(`serves refunds: ${newest}`)
    // The conversation loads the skill, so that it is told about later versions.
    await conversation.tools.find(({ name }) => name === 'skill')?.execute({ name: 'refunds' }, {})
  }
  body = newest
  await new Promise(resolve => setTimeout(resolve, 50))
}
await reporter.close()
