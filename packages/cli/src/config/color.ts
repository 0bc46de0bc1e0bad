/** Whether text for people is colored. An empty variable counts as unset. */
export function hasColor(environment: NodeJS.ProcessEnv = process.env): boolean {
  return process.stdout.isTTY === true && !environment['NO_COLOR'] && environment['TERM'] !== 'dumb'
}
