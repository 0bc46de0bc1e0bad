/** Words that most English messages contain and that say nothing about a task. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about an and any are as at be been but by can could do does for from had has have how i if in into is it its me my
  no not of on or our she so some than that the their them then there these they this those through to up was we were
  what when where which who whose whom why will with would you your he his her him am
  somebody someone something anybody anyone anything everybody everyone everything nobody nothing
  whether while whenever wherever whatever ask asks asked asking out
  please help helps want wants wanted need needs needed use uses using used user users make makes making should just
  s t m re ve ll d don`
    .trim()
    .split(/\s+/),
)
