import type { ComponentChildren } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { goQuietly, route, toHash } from '../route.ts'
import { LostDrafts } from '../skill/drafts.tsx'
import { SkillPane } from '../skill/skill-pane.tsx'
import { findRow, rows } from '../store.ts'
import { SkillList } from './skill-list.tsx'
import { listItems } from './visible-rows.ts'

/** The list of skills, and the chosen skill beside it. In a narrow window, one of the two. */
export function SkillsView(): ComponentChildren {
  const { chosen } = route.value
  const first = listItems.value.find(item => 'row' in item)?.row
  const row = chosen === undefined ? first : findRow(chosen)
  useLayoutEffect(() => {
    // The chosen skill stays when another one comes first. A narrow window shows the list first.
    if (chosen === undefined && first !== undefined && !matchMedia('(max-width: 720px)').matches)
      goQuietly(toHash({ ...route.value, chosen: first.target }))
  }, [chosen, first?.target])
  return (
    <main class={chosen === undefined ? 'two show-list' : 'two'} id="main" tabIndex={-1}>
      <SkillList selected={row} />
      <div class="detail">
        {row === undefined ? <NoSkill chosen={chosen} /> : <SkillPane key={row.target} row={row} />}
        <LostDrafts isLost={target => findRow(target)?.target !== target} />
      </div>
    </main>
  )
}

function NoSkill({ chosen }: { readonly chosen: string | undefined }): ComponentChildren {
  return (
    <div class="in">
      <a class="back" href="#/skills">
        ‹ All skills
      </a>
      {chosen !== undefined && <p>There is no skill “{chosen.split('/').at(-1)}” any more.</p>}
      {chosen === undefined && rows.value.length > 0 && <p class="m">No skill matches the filter.</p>}
      {rows.value.length === 0 && (
        <p class="m">
          No skills yet. Press <kbd>c</kbd> to create one, or save a folder with a SKILL.md in one of the
          roots.
        </p>
      )}
    </div>
  )
}
