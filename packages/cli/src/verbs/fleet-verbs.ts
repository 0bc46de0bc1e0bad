import type { Command } from 'commander'
import { actAlone } from './act.ts'
import { collect, parseCount } from './verb-options.ts'

/** Adds `fleet` with its verbs, which publish skills to many machines and show who runs what. */
export function addFleetVerbs(program: Command): void {
  const fleet = program
    .command('fleet')
    .description('publish skills to many machines on NATS JetStream, and see who runs what')
    .addHelpText(
      'after',
      `
Environment: SKILLSTOKE_FLEET (servers), SKILLSTOKE_FLEET_KEYS (trusted keys), SKILLSTOKE_FLEET_SIGNING_KEY,
SKILLSTOKE_FLEET_CREDS, SKILLSTOKE_FLEET_CA, SKILLSTOKE_FLEET_CERT, SKILLSTOKE_FLEET_CERT_KEY, SKILLSTOKE_FLEET_INBOX.

Examples:
  stoke fleet init --fleet nats://127.0.0.1:4222
  stoke fleet publish ./skills --watch
  stoke fleet status
  stoke dev --fleet nats://127.0.0.1:4222`,
    )
  addInit(fleet)
  addKey(fleet)
  addPublish(fleet)
  addChanges(fleet)
  addLooks(fleet)
  addUpkeep(fleet)
}

/** Adds the options that name a fleet, and who this program is there. */
function withFleet(command: Command): Command {
  return command
    .option('--fleet <url>', 'servers of the fleet, for example nats://host:4222; several with commas')
    .option('--trusted-key <key>', 'public key whose signatures are trusted; repeatable', collect)
    .option('--creds <file>', 'credentials: a .creds file, or the seed of an nkey')
    .option('--tls-ca <file>', 'certificates of the authorities that signed the servers, in PEM')
    .option('--tls-cert <file>', 'certificate of this program, in PEM')
    .option('--tls-key <file>', 'private key of --tls-cert, in PEM')
    .option('--json', 'print JSON')
}

/** Adds the options of verbs that change a channel. */
function withChange(command: Command): Command {
  return withFleet(command)
    .option('--signing-key <file>', 'private key that signs each version; "stoke fleet key" creates it')
    .option('--note <text>', 'why, for the log')
    .option('--dry-run', 'show what would change, and change nothing')
}

function withChannel(command: Command): Command {
  return command.option('--channel <name>', 'channel (default: stable)')
}

/** 0 is allowed, and means that the skill must not exist. */
function parseExpected(value: string): number {
  return value === '0' ? 0 : parseCount(value)
}

function addInit(fleet: Command): void {
  withChannel(withFleet(fleet.command('init')))
    .description('create the streams of a fleet, or check them, and print the accounts to configure')
    .option('--replicas <count>', 'servers that store each message: 1, 3 or 5', parseCount)
    .option('--new-epoch', 'make all agents change to what the servers have now, after a backup was restored')
    .option('--from <folder>', 'fill the channel with the skills of a folder, after all streams were lost')
    .option('--signing-key <file>', 'private key that signs the epoch')
    .option('--dry-run', 'show what would change, and change nothing')
    .addHelpText(
      'after',
      `
Running it again changes nothing that is right. Existing skills stay.

Examples:
  stoke fleet init --fleet nats://127.0.0.1:4222
  stoke fleet init --replicas 3 --signing-key fleet.pem --trusted-key ed25519:…
  stoke fleet init --new-epoch
  stoke fleet init --from ./skills`,
    )
    .action(actAlone(async () => (await import('../fleet/init-fleet.ts')).initFleet))
}

function addKey(fleet: Command): void {
  fleet
    .command('key')
    .description('create a signing key, or the identity of a program, and print its public half')
    .argument('<file>', 'file for the private key; must not exist')
    .option('--nkey', 'create an nkey, with which a program identifies itself at the servers')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  stoke fleet key fleet.pem\n  stoke fleet key --nkey agent.nk')
    .action(actAlone(async () => (await import('../fleet/create-key.ts')).createKey))
}

function addPublish(fleet: Command): void {
  withChannel(withChange(fleet.command('publish')))
    .description('publish the skills of a folder, or of a repository')
    .argument('[dir]', 'folder with skills, or the folder of one skill (default: ./skills)')
    .option('--source <place>', 'publish from a repository or another source instead of a folder')
    .option('--name <skill>', 'publish only this skill; repeatable', collect)
    .option('--watch', 'publish every later change too, until Ctrl-C')
    .option(
      '--mirror',
      'remove the skills of the channel that the folder does not have, and fill a new epoch',
    )
    .option(
      '--expect <version>',
      'fail unless the skill has this version now; 0 if it must be new',
      parseExpected,
    )
    .option('--prefetch', 'upload the files, wait until every agent has them, then publish')
    .option('--force', 'also publish skills that were rolled back or removed')
    .addHelpText(
      'after',
      `
Exits with 1 if a folder was refused. A broken skill is never published, and its last version stays.

Examples:
  stoke fleet publish ./skills
  stoke fleet publish ./skills --watch --channel canary
  stoke fleet publish --source acme/skills#main:skills --watch --mirror
  stoke fleet publish ./skills --name pdf --expect 4 --note "new form" --dry-run`,
    )
    .action(actAlone(async () => (await import('../fleet/publish.ts')).publish))
}

function addChanges(fleet: Command): void {
  withChange(fleet.command('promote'))
    .description('publish the versions of one channel in another')
    .argument('[skill...]', 'skills (default: all)')
    .requiredOption('--from <channel>', 'channel to take the versions from')
    .option('--to <channel>', 'channel that gets them', 'stable')
    .addHelpText(
      'after',
      '\nExamples:\n  stoke fleet promote --from canary\n  stoke fleet promote pdf --from canary --to stable --dry-run',
    )
    .action(actAlone(async () => (await import('../fleet/change-channel.ts')).promote))
  withChannel(withChange(fleet.command('rollback')))
    .description('publish the files of an earlier version again, as a new version')
    .argument('<skill>', 'name of the skill')
    .option('--to <version>', 'version (default: the newest one with other files)', parseCount)
    .option('--expect <version>', 'fail unless the skill has this version now', parseExpected)
    .addHelpText(
      'after',
      '\nExamples:\n  stoke fleet rollback pdf\n  stoke fleet rollback pdf --to 3 --note "broken form"',
    )
    .action(actAlone(async () => (await import('../fleet/change-channel.ts')).rollback))
  withChannel(withChange(fleet.command('remove')))
    .description('remove a skill from a channel')
    .argument('<skill>', 'name of the skill')
    .option('--expect <version>', 'fail unless the skill has this version now', parseExpected)
    .addHelpText(
      'after',
      '\nIts versions stay in the log, so "stoke fleet rollback" brings it back.\n\nExamples:\n  stoke fleet remove pdf',
    )
    .action(actAlone(async () => (await import('../fleet/change-channel.ts')).remove))
}

function addLooks(fleet: Command): void {
  withChannel(withFleet(fleet.command('log')))
    .description('list the versions of a skill, newest first')
    .argument('<skill>', 'name of the skill')
    .addHelpText('after', '\nExamples:\n  stoke fleet log pdf\n  stoke fleet log pdf --channel canary --json')
    .action(actAlone(async () => (await import('../fleet/show-fleet.ts')).log))
  withChannel(withFleet(fleet.command('status')))
    .description('show the versions of a channel, and which agent serves what')
    .option('--watch', 'print again every 2 seconds, until Ctrl-C')
    .addHelpText(
      'after',
      `
Exits with 1 if an agent is behind, stale, or holds a version back.

Examples:
  stoke fleet status
  stoke fleet status --channel canary --watch`,
    )
    .action(actAlone(async () => (await import('../fleet/show-fleet.ts')).status))
}

function addUpkeep(fleet: Command): void {
  withFleet(fleet.command('gc'))
    .description('remove old versions, and files that no version needs')
    .option(
      '--keep <count>',
      'versions of each skill to keep, besides the current one (default: 20)',
      parseCount,
    )
    .option(
      '--grace <hours>',
      'keep unused files that are younger; below 2 only while no program publishes (default: 168)',
      parseCount,
    )
    .option('--dry-run', 'show what would be removed, and remove nothing')
    .addHelpText('after', '\nExamples:\n  stoke fleet gc --dry-run\n  stoke fleet gc --keep 5')
    .action(actAlone(async () => (await import('../fleet/collect.ts')).collect))
  withFleet(fleet.command('doctor'))
    .description('check the servers, the streams, the signatures and the files of a fleet')
    .addHelpText(
      'after',
      '\nExits with 1 if something is wrong.\n\nExamples:\n  stoke fleet doctor\n  stoke fleet doctor --json',
    )
    .action(actAlone(async () => (await import('../fleet/doctor.ts')).doctor))
}
