import type { ComponentChildren } from 'preact'

const STROKES = {
  search: 'M11.5 7a4.5 4.5 0 1 1-9 0 4.5 4.5 0 0 1 9 0zM10.5 10.5L14 14',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  external: 'M6.5 3.5h-3v9h9v-3M9 3.5h3.5V7M12 4L7.5 8.5',
  terminal: 'M3 4.5L6.5 8 3 11.5M8.5 12H13',
  file: 'M4 2.5h5l3 3v8H4zM9 2.5v3h3',
  play: 'M5 3.5l7 4.5-7 4.5z',
  sort: 'M5 3v10M5 13l-2-2M5 13l2-2M11 13V3M11 3L9 5M11 3l2 2',
  plus: 'M8 3v10M3 8h10',
  down: 'M4 6l4 4 4-4',
  right: 'M6 4l4 4-4 4',
  copy: 'M5.5 5.5h7v7h-7zM3.5 10.5v-7h7',
  key: 'M8.5 7.5a3 3 0 1 1-3-3 3 3 0 0 1 3 3zM8 9l5 4M11 11.5l1-1.2',
  globe: 'M13.5 8a5.5 5.5 0 1 1-11 0 5.5 5.5 0 0 1 11 0zM2.5 8h11M8 2.5c3 3.3 3 7.7 0 11-3-3.3-3-7.7 0-11',
  eye: 'M1.5 8S4 4 8 4s6.5 4 6.5 4-2.5 4-6.5 4-6.5-4-6.5-4zM9.5 8a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0z',
  tools: 'M10 3l3 3-7 7H3v-3zM8.5 4.5l3 3',
  text: 'M3 4h10M3 8h10M3 12h6',
  theme: 'M13.5 8a5.5 5.5 0 1 1-11 0 5.5 5.5 0 0 1 11 0z',
} as const

export type IconName = keyof typeof STROKES

/** Renders a line drawing beside a text, which says the same. */
export function Icon({ name }: { readonly name: IconName }): ComponentChildren {
  return (
    <svg class="i" viewBox="0 0 16 16" aria-hidden="true">
      <path d={STROKES[name]} class={name === 'more' ? 'dots' : 'stroke'} />
      {name === 'theme' && <path d="M8 2.5a5.5 5.5 0 0 1 0 11z" class="fill" />}
    </svg>
  )
}

export function Flame(): ComponentChildren {
  return (
    <svg class="flame" viewBox="0 0 16 16" aria-hidden="true">
      <path
        class="fill"
        d="M8.2 1.2c.5 2.5 4.8 4.3 4.8 8.3A5 5 0 0 1 8 14.8a5 5 0 0 1-5-5.1c0-1.8.9-3 1.9-3.9.1 1.2.6 1.9 1.3 2.2C5.9 5.4 6.7 2.7 8.2 1.2z"
      />
    </svg>
  )
}

function circle(radius: number): string {
  return `M${7 - radius} 7a${radius} ${radius} 0 1 0 ${2 * radius} 0 ${radius} ${radius} 0 1 0 ${-2 * radius} 0`
}

/** The paths of each state, by their look. The colour alone says nothing, so each state has a shape of its own. */
const SHAPES = {
  live: { fill: circle(4) },
  broken: { fill: circle(6.5), 'cut-out': 'M4.8 4.8l4.4 4.4m0-4.4L4.8 9.2' },
  wait: { stroke: circle(5.2), fill: 'M7 3.8a3.2 3.2 0 0 1 0 6.4z' },
  warn: { fill: 'M7 .9l6.4 11.7H.6z', 'cut-out': 'M7 5v3.6M7 10.1v1' },
  hidden: { stroke: `${circle(5.2)}M3.4 10.6l7.2-7.2` },
  unlisted: { 'stroke dashed': circle(5.2) },
  quiet: { stroke: circle(3.4) },
  info: { stroke: `${circle(5.6)}M7 6.4v3.4M7 3.9v1.2` },
  check: { 'stroke strong': 'M2.5 7.4l3 3 6-6.6' },
} as const

export type ShapeName = keyof typeof SHAPES

export function Shape({ name }: { readonly name: ShapeName }): ComponentChildren {
  return (
    <svg class={`st st-${name}`} viewBox="0 0 14 14" aria-hidden="true">
      {Object.entries(SHAPES[name]).map(([look, path]) => (
        <path key={look} d={path} class={look} />
      ))}
    </svg>
  )
}
