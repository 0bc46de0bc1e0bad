import type { Requirement } from './requirement.ts'

/** The promises of this project. All other requirements serve these promises. */
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
      'Live: all readers see a save within tens of milliseconds, including the settle time. A running agent sees the change at its next model call at the latest.',
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
      'Whole: readers see all of a batch or nothing of it. A prompt and a tool call keep the generation with which they started, and a running call keeps its code.',
  },
  {
    id: 'PROMISE-5',
    kind: 'promise',
    behaviour:
      'Nothing lost: a missed event is recovered within seconds. A failing source is retried and keeps its skills. A throwing subscriber does not affect other subscribers, and the last change of a burst is always delivered.',
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
      'Honest: nothing disappears silently. `why` names the check that a skill failed, and success is reported only for a reload that took place.',
  },
  {
    id: 'PROMISE-8',
    kind: 'promise',
    behaviour:
      'Contained: content from a skill or peer (name, path, link, archive, URL, YAML, XML, script, message) can access only what the host has allowed.',
  },
] as const satisfies readonly Requirement[]
