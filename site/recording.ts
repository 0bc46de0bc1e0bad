import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DevServer } from './dev-server.ts'

// Records a run of the dev server as an animated picture: a skill is edited, the running conversation answers with the new text, a save with a mistake is refused, and the mistake is mended.

const DEMO = resolve(import.meta.dirname, '../demo/skills')
const QUESTION = 'A customer wants a refund for order 1042. What applies?'

/** A part of the recording. */
interface Scene {
  readonly caption: string
  readonly seconds: number
  /** Text of the file in the editor. */
  readonly file: string
  /** What the dev server has printed since the previous scene. */
  readonly printed: string
}

export async function recordSaves(): Promise<string> {
  await using dev = new DevServer(folder => {
    cpSync(DEMO, join(folder, 'skills'), { recursive: true })
    return ['skills', '--ask', QUESTION]
  })
  const path = join(dev.folder, 'skills/refund/SKILL.md')
  const first = readFileSync(path, 'utf8')
  const edited = first.replace('30 days', '14 days')
  const broken = edited.replace('name: refund', 'name: "refund')
  await dev.printed(/to stop\n/)
  const answered = await dev.printed(/agent .*30 days.*\n/)
  writeFileSync(path, edited)
  const followed = await dev.printed(/agent .*14 days.*\n/)
  writeFileSync(path, broken)
  const refused = await dev.printed(/fix: .*\n/)
  writeFileSync(path, edited)
  const fixed = await dev.printed(/refund fixed.*\n/)
  return draw([
    { caption: 'An agent answers from the skill refund.', seconds: 3.5, file: first, printed: answered },
    { caption: 'You edit the skill.', seconds: 2, file: edited, printed: '' },
    {
      caption: 'You save. The same conversation answers with the new text.',
      seconds: 5,
      file: edited,
      printed: followed,
    },
    {
      caption: 'You save a mistake. The text before it stays live.',
      seconds: 5.5,
      file: broken,
      printed: refused,
    },
    { caption: 'You mend it, and nothing was lost.', seconds: 4, file: edited, printed: fixed },
  ])
}

const WIDTH = 920
const LINE = 19
const COLUMNS = 108
const EDITOR = { top: 56, lines: 9 } as const
const TERMINAL_TOP = EDITOR.top + EDITOR.lines * LINE + 52
/** Colors of lines that begin in a certain way. */
const COLORS: readonly (readonly [RegExp, string])[] = [
  [/^ {2}agent/, '#79c0ff'],
  [/broken/, '#ff7b72'],
  [/changed|fixed/, '#7ee787'],
  [/^ {2}fix:/, '#d29922'],
]

function draw(scenes: readonly Scene[]): string {
  const total = scenes.reduce((sum, { seconds }) => sum + seconds, 0)
  const animations: string[] = []
  const parts: string[] = []
  let passed = 0
  let row = 0
  scenes.forEach(({ caption, seconds, file, printed }, index) => {
    const from = percent(passed / total)
    passed += seconds
    const isLast = index === scenes.length - 1
    const begin = index === 0 ? '' : '0%{opacity:0}'
    const end = isLast ? '' : `${percent(passed / total)}{opacity:0}`
    animations.push(
      `@keyframes during${index}{${begin}${from}{opacity:1}${end}}`,
      `.during${index}{animation:during${index} ${total}s step-end infinite}`,
    )
    if (index > 0)
      animations.push(
        `@keyframes from${index}{${begin}${from}{opacity:1}}`,
        `.from${index}{animation:from${index} ${total}s step-end infinite}`,
      )
    const before = (scenes[index - 1]?.file ?? file).split('\n')
    const lines = file.split('\n').slice(0, EDITOR.lines)
    const isRefused = printed.includes('broken')
    parts.push(
      `<g class="during${index}" opacity="${isLast ? 1 : 0}">`,
      ...lines.flatMap((line, number) =>
        drawFileLine(line, number, line !== before[number] && (isRefused ? '#da363355' : '#2ea04333')),
      ),
      `<text x="${WIDTH - 36}" y="34" text-anchor="end" class="caption">${escapeText(caption)}</text>`,
      '</g>',
      `<g class="from${index}">`,
    )
    for (const line of printed.trimEnd().split('\n').filter(Boolean)) {
      const color = COLORS.find(([pattern]) => pattern.test(line))?.[1] ?? '#c9d1d9'
      for (const piece of wrap(line)) {
        parts.push(drawText(28, TERMINAL_TOP + 4 + row * LINE, piece, color))
        row++
      }
    }
    parts.push('</g>')
  })
  const height = TERMINAL_TOP + row * LINE + 14
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="A skill is edited while an agent runs, and the agent answers with the new text" font-family="ui-monospace, monospace" font-size="13">`,
    `<style>.caption,.title{font:13px system-ui,sans-serif;fill:#f0f6fc}.title{fill:#8b949e}@media (prefers-reduced-motion:no-preference){${animations.join('')}}</style>`,
    `<rect width="${WIDTH}" height="${height}" rx="10" fill="#0d1117"/>`,
    `<rect x="14" y="14" width="${WIDTH - 28}" height="${EDITOR.lines * LINE + 44}" rx="8" fill="#161b22" stroke="#30363d"/>`,
    '<text x="28" y="34" class="title">skills/refund/SKILL.md</text>',
    `<text x="28" y="${TERMINAL_TOP - 20}" class="title">npx skillstoke dev skills</text>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n')
}

function drawFileLine(line: string, number: number, mark: string | false): readonly string[] {
  const y = EDITOR.top + number * LINE
  const rect = `<rect x="20" y="${y - 14}" width="${WIDTH - 40}" height="${LINE}" fill="${mark}"/>`
  return [...(mark === false ? [] : [rect]), drawText(28, y, cut(line), '#c9d1d9')]
}

function drawText(x: number, y: number, text: string, color: string): string {
  return `<text x="${x}" y="${y}" fill="${color}" xml:space="preserve">${escapeText(text)}</text>`
}

function cut(line: string): string {
  return line.length > COLUMNS ? `${line.slice(0, COLUMNS - 1)}…` : line
}

/** Splits a line at spaces. Further pieces are indented by two spaces more than the line. */
function wrap(line: string): readonly string[] {
  const indent = `${/^ */.exec(line)?.[0]}  `
  const pieces: string[] = []
  let rest = line
  while (rest.length > COLUMNS) {
    const at = rest.lastIndexOf(' ', COLUMNS)
    pieces.push(rest.slice(0, at))
    rest = indent + rest.slice(at + 1)
  }
  return [...pieces, rest]
}

function percent(share: number): string {
  return `${Math.round(share * 1_000) / 10}%`
}

export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
