import type { ComponentChildren } from 'preact'
import type { SkillRow } from 'skillstoke/client'
import { client } from '../client.ts'
import { listNames } from '../client-groups.ts'
import { ChangeButton } from '../parts/change-button.tsx'
import { ChangeText } from '../parts/change-text.tsx'
import { plural } from '../parts/format.ts'
import { Shape, type ShapeName } from '../parts/icons.tsx'
import { Ago } from '../parts/time.tsx'
import { loadedValue, useLoaded } from '../parts/use-loaded.ts'
import { toHash, toSkill } from '../route.ts'
import { findFix, fix } from '../skill/fixes.ts'
import { describeStay } from '../skill-state.ts'
import { timeline } from '../store.ts'
import type { ToDo } from '../to-do.ts'

/** One thing to do: what is wrong, why, and where it is mended. */
interface Told {
  readonly shape?: ShapeName
  readonly what: ComponentChildren
  readonly why?: ComponentChildren
  readonly href?: string
  readonly label?: string
  readonly button?: ComponentChildren
}

/** Renders one thing to do. */
export function ToDoLine({ item }: { readonly item: ToDo }): ComponentChildren {
  const waiting = item.kind === 'waiting' ? item.row : undefined
  const diff = useLoaded(waiting && (() => client.diff(waiting.target)), [waiting?.target, waiting?.revision])
  const { shape = 'warn', what, why, href, label, button } = tell(item, loadedValue(diff))
  return (
    <li>
      <Shape name={shape} />
      <div>
        <p>{what}</p>
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

function tell(item: ToDo, diff: Parameters<typeof ChangeText>[0]['diff'] | undefined): Told {
  switch (item.kind) {
    case 'broken':
      return tellBroken(item.row)
    case 'waiting': {
      const { row } = item
      const grown = diff?.newCapabilities ?? []
      const more =
        grown.length > 0 ? ', and could do more than before' : row.serving === null ? ', it is new' : ''
      const words =
        grown.length > 0 ? `: ${listNames(grown, 9)}` : row.serving !== null && <ChangeText diff={diff} />
      return {
        shape: 'wait',
        what: (
          <>
            {link(row)} waits for approval{diff !== undefined && more}
          </>
        ),
        why: (
          <>
            {row.source}
            {words}
          </>
        ),
        href: toSkill(row.target),
        label: 'Review',
      }
    }
    case 'hidden-text':
      return {
        what: <>{link(item.row)} has text that people do not see</>,
        why: item.row.diagnostics.find(({ code }) => code === 'HIDDEN_TEXT')?.message,
        href: toSkill(item.row.target, 'skill'),
        label: 'Show it',
      }
    case 'source':
      return {
        shape: 'broken',
        what: (
          <>
            <b>{item.source.path}</b> cannot be read
          </>
        ),
        why: `${item.reason}. What was read before stays live.`,
      }
    case 'failing': {
      const { skill, passed, total, model } = item.tests
      const href = toSkill(skill, 'tests')
      const what = (
        <>
          <a href={href}>{skill}</a> fails {total - passed} of {plural(total, 'test')}
        </>
      )
      return { what, why: `${model} was asked with the live text.`, href, label: 'See tests' }
    }
    case 'collision': {
      const { skills, shared, lostMessages } = item.collision
      const [a, b] = skills.map(({ name }) => name) as [string, string]
      const [lost] = lostMessages
      return {
        what: (
          <>
            <a href={toSkill(a, 'tests')}>{a}</a> and <a href={toSkill(b, 'tests')}>{b}</a> collide
          </>
        ),
        why:
          lost === undefined
            ? `Both descriptions are about ${listNames(shared, 4)}. The model may take either.`
            : `“${lost.message}” is meant for ${lost.meantFor} and fits ${lost.first} better.`,
        href: toSkill(a, 'tests'),
        label: 'Compare',
      }
    }
    case 'warnings': {
      const { rows } = item
      return {
        what: plural(rows.length, 'live skill has warnings', 'live skills have warnings'),
        why: listNames(
          rows.map(({ name }) => name),
          5,
        ),
        href:
          rows.length === 1
            ? toSkill(rows[0]?.target ?? '', 'skill')
            : toHash({ view: 'skills', query: { show: 'attention' } }),
        label: 'Show',
      }
    }
    default:
      return item satisfies never
  }
}

function link(row: SkillRow): ComponentChildren {
  return <a href={toSkill(row.target)}>{row.name}</a>
}

function tellBroken(row: SkillRow): Told {
  const since = timeline.value.find(({ problems }) =>
    problems.some(({ name, status }) => name === row.name && status === 'broken'),
  )
  const finding = row.diagnostics.find(({ severity }) => severity === 'error') ?? row.diagnostics[0]
  const found = findFix(row)
  return {
    shape: 'broken',
    what: (
      <>
        {link(row)} is broken {since !== undefined && 'since the save '}
        {since !== undefined && <Ago at={since.at} />}
      </>
    ),
    why: `${finding?.line === undefined ? '' : `Line ${finding.line}: `}${finding?.message ?? ''}. ${describeStay(row.serving)}`,
    href: toSkill(row.target, 'skill'),
    label: 'Open',
    button: found !== undefined && (
      <ChangeButton class="btn sm primary" onClick={() => fix(row, found)}>
        Fix line {found.line}
      </ChangeButton>
    ),
  }
}
