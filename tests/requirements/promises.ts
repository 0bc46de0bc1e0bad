import type { Requirement } from './requirement.ts'

/** The promises of this project, to which everything else is a means. */
export const PROMISES = [
  {
    id: 'PROMISE-1',
    kind: 'promise',
    behaviour:
      'One state: prompt, tool answers, lists, dashboard and command line all derive from a single immutable generation and print its number, so no two views disagree.',
  },
  {
    id: 'PROMISE-2',
    kind: 'promise',
    behaviour:
      'Live: within tens of milliseconds of a save, settling included, all readers have the change, and a running agent has it at the latest when it next calls the model.',
  },
  {
    id: 'PROMISE-3',
    kind: 'promise',
    behaviour:
      'Never worse: a broken edit adds a loud diagnostic and changes nothing that is served; the last good revision stays live, also after a restart, and other skills are not affected.',
  },
  {
    id: 'PROMISE-4',
    kind: 'promise',
    behaviour:
      'Whole: readers see all of a batch or nothing of it; a prompt and a tool call stay with the generation they started from, and a running call stays with its code.',
  },
  {
    id: 'PROMISE-5',
    kind: 'promise',
    behaviour:
      'Nothing lost: a missed event is made up for within seconds, a failing source is retried and keeps its contents, a throwing subscriber starves no other, and a burst always ends with its last change delivered.',
  },
  {
    id: 'PROMISE-6',
    kind: 'promise',
    behaviour:
      'Prefix-stable: a reload changes no byte of a conversation that the model has already received, unless the host chose `rebuild` or dynamic tools.',
  },
  {
    id: 'PROMISE-7',
    kind: 'promise',
    behaviour:
      'Honest: nothing disappears silently, `why` tells at which stage a skill stopped, and success is reported only for a reload that took place.',
  },
  {
    id: 'PROMISE-8',
    kind: 'promise',
    behaviour:
      'Contained: whatever a skill or peer brings (name, path, link, archive, URL, YAML, XML, script, message) reaches no further than the host has allowed.',
  },
] as const satisfies readonly Requirement[]
