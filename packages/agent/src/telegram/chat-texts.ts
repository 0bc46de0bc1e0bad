import { cutText } from './cut-text.ts'

const MAX_SHOWN_NAME = 100

/** The sentences that the connection itself sends to a chat. */
export const CHAT_TEXTS = {
  start: 'Write a message, or use a command. /skills lists the skills.',
  noSkills: 'There are no skills.',
  reset: 'This is a new conversation. The earlier one is kept.',
  alreadyEmpty: 'This conversation is already empty.',
  nothingToRetry: 'Every message has an answer, so there is nothing to retry.',
  failed: 'I could not answer. Send /retry to try again.',
  empty: 'The answer is empty. Send another message.',
  edited: 'I cannot read edited messages. Send the changed text as a new message.',
  closing: 'The bot is about to restart. Send this message again in a minute.',
  isAnswering: 'This question is closed, because an answer is being written.',
  isClosed: 'This question is closed.',
  isDecided: 'This call is already decided.',
  approved: 'Approved.',
  declined: 'Declined.',
  notAllowed: (userId: number): string => `This bot is private. Your user id is ${userId}.`,
  unknownCommand: (command: string): string =>
    `There is no command /${cutText(command, MAX_SHOWN_NAME)}. /skills lists the skills.`,
  unsupported: (readsFiles: boolean): string =>
    readsFiles ? 'I can read text, photos and documents only.' : 'I can read text only.',
  tooLarge: (name: string | undefined, maxBytes: number): string =>
    `${showName(name)} is too large. The limit is ${toMegabytes(maxBytes)} MB.`,
  unreadable: (name: string | undefined): string => `${showName(name)} could not be read. Send it again.`,
  busy: (remainingMs: number): string =>
    `Another process answers in this conversation. Try again in ${Math.ceil(remainingMs / 1000)} seconds.`,
  stepLimit: (steps: number): string =>
    `I stopped after ${steps} ${steps === 1 ? 'step' : 'steps'}. Send /retry to continue.`,
} as const

/** Returns the name of a file in quotation marks. A photo has no name. */
function showName(name: string | undefined): string {
  return name === undefined ? 'The photo' : JSON.stringify(cutText(name, MAX_SHOWN_NAME))
}

function toMegabytes(bytes: number): string {
  return String(Number((bytes / 1_000_000).toPrecision(2)))
}
