import type { Requirement } from './requirement.ts'

/** The promises of this project. Everything else serves them. */
export const PROMISES = [
  {
    id: 'PROMISE-1',
    kind: 'promise',
    behaviour:
      'One state: prompt, tool answers, lists, dashboard and command line all read one immutable generation and print its number, so two views never disagree.',
  },
  {
    id: 'PROMISE-2',
    kind: 'promise',
    behaviour:
      'Live: all readers have a change within tens of milliseconds of the save, settling included. A running agent has it no later than its next model call.',
  },
  {
    id: 'PROMISE-3',
    kind: 'promise',
    behaviour:
      'Never worse: a broken edit adds a visible diagnostic and changes nothing that is served. The last good revision stays live, also after a restart, and other skills are not affected.',
  },
  {
    id: 'PROMISE-4',
    kind: 'promise',
    behaviour:
      'Whole: readers see all of a batch or nothing of it. A prompt and a tool call keep the generation they started with, and a running call keeps its code.',
  },
  {
    id: 'PROMISE-5',
    kind: 'promise',
    behaviour:
      'Nothing lost: a missed event is recovered within seconds, and a failing source is retried and keeps its contents. A throwing subscriber does not affect the others, and the last change of a burst is always delivered.',
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
      'Honest: nothing disappears silently. `why` names the stage at which a skill stopped, and success is reported only for a reload that took place.',
  },
  {
    id: 'PROMISE-8',
    kind: 'promise',
    behaviour:
      'Contained: content from a skill or peer (name, path, link, archive, URL, YAML, XML, script, message) reaches no further than the host has allowed.',
  },
] as const satisfies readonly Requirement[]
