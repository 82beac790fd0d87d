/**
 * Signs, each a shape of its own. Drawn, because not every machine has a font with all of them.
 *
 * @module
 */

const PATHS = {
  play: 'M4 2.5v11l9-5.5z',
  loop: 'M13 8a5 5 0 1 1-1.6-3.7M13 2v3.2H9.8',
  quarter: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 4.5V8h3.5',
  pause: 'M4.5 3h2.4v10H4.5zM9.1 3h2.4v10H9.1z',
  check: 'M3 8.5l3.3 3.3L13 4.8',
  cross: 'M3.8 3.8l8.4 8.4M12.2 3.8l-8.4 8.4',
  flag: 'M4 14V2.5h8.5L10.3 5.5l2.2 3H4',
  glass: 'M4 2h8M4 14h8M5 2c0 4 6 8 6 12M11 2c0 4-6 8-6 12',
  copy: 'M6 5.5h7.5v8H6zM3.5 10.5h-1v-8H10v1',
  warn: 'M8 2.5l6.2 11H1.8z',
  dot: 'M8 4.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7',
  ring: 'M8 3.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9',
  half: 'M8 3.5a4.5 4.5 0 1 0 0 9zM8 3.5a4.5 4.5 0 0 1 0 9',
  diamond: 'M8 2.5l5 5.5-5 5.5L3 8z',
  unequal: 'M3 6h10M3 10h10M11 2.5l-6 11',
  question: 'M5.5 6a2.5 2.5 0 1 1 3.6 2.2C8.3 8.7 8 9.1 8 10M8 12.6v.4',
} as const

/** The name of a sign. */
export type IconName = keyof typeof PATHS

const FILLED: readonly IconName[] = ['play', 'pause', 'dot']

/** A sign. It never stands alone for a word. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      class={FILLED.includes(name) ? 'icon filled' : 'icon'}
      {...{ viewBox: '0 0 16 16', 'aria-hidden': 'true', focusable: 'false' }}
    >
      <path d={PATHS[name]} />
    </svg>
  )
}
