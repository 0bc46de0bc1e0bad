import type { ComponentChildren } from 'preact'
import type { SkillRow } from 'skillstoke/client'
import { client } from '../client.ts'
import { listNames } from '../client-groups.ts'
import { ChangeButton } from '../parts/change-button.tsx'
import { ChangeText } from '../parts/change-text.tsx'
import { plural } from '../parts/format.ts'
import { Shape, type ShapeName } from '../parts/icons.tsx'
import { Ago } from '../parts/time.tsx'
import { useValue } from '../parts/use-loaded.ts'
import { toHash, toSkill } from '../route.ts'
import { findFix, fix } from '../skill/fixes.ts'
import { describeStay } from '../skill-state.ts'
import { timeline } from '../store.ts'
import type { ToDo } from '../to-do.ts'

/** What is wrong, why, and where it is mended. */
interface Told {
  readonly shape?: ShapeName
  /** Begins the sentence, and links to the place. */
  readonly name?: string
  readonly says: ComponentChildren
  readonly why?: ComponentChildren
  /** Absent if the page has no place for it. */
  readonly href?: string
  readonly label?: string
  readonly button?: ComponentChildren
}

/** Renders one thing to do. */
export function ToDoLine({ item }: { readonly item: ToDo }): ComponentChildren {
  const waiting = item.kind === 'waiting' ? item.row : undefined
  const diff = useValue(waiting && (() => client.diff(waiting.target)), [waiting?.target, waiting?.revision])
  const { shape = 'warn', name, says, why, href, label, button } = tell(item, diff)
  return (
    <li>
      <Shape name={shape} />
      <div>
        <p>
          {name !== undefined && href !== undefined && <a href={href}>{name}</a>} {says}
        </p>
        <p>{why}</p>
      </div>
      <div class="bar-x">
        {button}
        {href !== undefined && (
          <a class="btn sm" href={href}>
            {label}
          </a>
        )}
      </div>
    </li>
  )
}

type Diff = NonNullable<Parameters<typeof ChangeText>[0]['diff']>

function tell(item: ToDo, diff: Diff | undefined): Told {
  switch (item.kind) {
    case 'broken':
      return tellBroken(item.row)
    case 'waiting':
      return tellWaiting(item.row, diff)
    case 'hidden-text': {
      const { name, target, diagnostics } = item.row
      return {
        name,
        says: 'has text that people do not see',
        why: diagnostics.find(({ code }) => code === 'HIDDEN_TEXT')?.message,
        href: toSkill(target, 'skill'),
        label: 'Show it',
      }
    }
    case 'source':
      return {
        shape: 'broken',
        says: [<b key="path">{item.source.path}</b>, ' cannot be read'],
        why: `${item.reason}. What was read before stays live.`,
      }
    case 'failing': {
      const { skill, passed, total, model } = item.tests
      return {
        name: skill,
        says: `fails ${total - passed} of ${plural(total, 'test')}`,
        why: `${model} was asked with the live text.`,
        href: toSkill(skill, 'tests'),
        label: 'See tests',
      }
    }
    case 'collision': {
      const { skills, shared, lostMessages } = item.collision
      const [a, b] = skills.map(({ name }) => name) as [string, string]
      const [lost] = lostMessages
      return {
        name: a,
        says: [
          'and ',
          <a key="b" href={toSkill(b, 'tests')}>
            {b}
          </a>,
          ' collide',
        ],
        why:
          lost === undefined
            ? `Both descriptions are about ${listNames(shared, 4)}. The model may take either.`
            : `“${lost.message}” is meant for ${lost.meantFor} and fits ${lost.first} better.`,
        href: toSkill(a, 'tests'),
        label: 'Compare',
      }
    }
    case 'warnings': {
      const names = item.rows.map(({ name }) => name)
      const [first] = item.rows
      return {
        says: plural(names.length, 'live skill has warnings', 'live skills have warnings'),
        why: listNames(names, 5),
        href:
          names.length === 1 && first
            ? toSkill(first.target, 'skill')
            : toHash({ view: 'skills', query: { show: 'attention' } }),
        label: 'Show',
      }
    }
    default:
      return item satisfies never
  }
}

function tellBroken(row: SkillRow): Told {
  const since = timeline.value.find(({ problems }) =>
    problems.some(({ name, status }) => name === row.name && status === 'broken'),
  )
  const finding = row.diagnostics.find(({ severity }) => severity === 'error') ?? row.diagnostics[0]
  const found = findFix(row)
  return {
    shape: 'broken',
    name: row.name,
    says: ['is broken ', since && ['since the save ', <Ago key="at" at={since.at} />]],
    why: `${finding?.line === undefined ? '' : `Line ${finding.line}: `}${finding?.message ?? ''}. ${describeStay(row.serving)}`,
    href: toSkill(row.target, 'skill'),
    label: 'Open',
    button: found && (
      <ChangeButton class="btn sm primary" onClick={() => fix(row, found)}>
        Fix line {found.line}
      </ChangeButton>
    ),
  }
}

function tellWaiting({ name, target, source, serving }: SkillRow, diff: Diff | undefined): Told {
  const told = { shape: 'wait', name, href: toSkill(target), label: 'Review' } as const
  const says = 'waits for approval'
  if (diff === undefined) return { ...told, says, why: source }
  if (diff.newCapabilities.length > 0)
    return {
      ...told,
      says: `${says}, and could do more than before`,
      why: `${source}: ${listNames(diff.newCapabilities, 9)}`,
    }
  if (serving === null) return { ...told, says: `${says}, it is new`, why: source }
  return { ...told, says, why: [source, <ChangeText key="text" diff={diff} />] }
}
