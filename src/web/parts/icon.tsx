// Icons, drawn on a grid of 16 with one stroke.

const paths = {
  overview: 'M2.5 9.5h3l2-6 2 9 2-5h2',
  tapes: 'M2.5 4h11M2.5 8h11M2.5 12h7',
  handoffs: 'M4 13 12.5 4.5M8 3.5h5.5V9M2.5 8.5v5h5',
  lineage: 'M4 3v6a3 3 0 0 0 3 3h5M4 6h5a3 3 0 0 1 3-3M10 10l2 2-2 2',
  inbox: 'M2.5 9 4 3.5h8L13.5 9v3.5h-11zM2.5 9h3l1 1.5h3l1-1.5h3',
  tasks: 'M3 4.2l1 1 1.8-2M3 11.2l1 1 1.8-2M8.5 4.5h5M8.5 11.5h5',
  relay: 'M3 5.5h9l-2.5-2.5M13 10.5H4L6.5 13',
  supervisor: 'M2.5 3h11v8.5h-11zM5 6l2 1.5L5 9M8.5 9.2h2.5M6 14h4',
  settings: 'M2.5 5h6M11.5 5h2M2.5 11h2M7.5 11h6M10 3.5v3M6 9.5v3',
  doctor: 'M8 3v10M3 8h10',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5l3 3',
  close: 'M4 4l8 8M12 4l-8 8',
  right: 'M6 3.5 10.5 8 6 12.5',
  down: 'M3.5 6 8 10.5 12.5 6',
  up: 'M3.5 10 8 5.5 12.5 10',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z',
  system: 'M2.5 3.5h11v7.5h-11zM6 13.5h4',
  play: 'M5 3.5v9l7-4.5z',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  stop: 'M4.5 4.5h7v7h-7z',
  check: 'M3 8.5 6.5 12 13 4.5',
  warning: 'M8 2.5 14 13H2zM8 6.5v3M8 11.3v.01',
  anchor: 'M8 6a1.7 1.7 0 1 0 0-3.4A1.7 1.7 0 0 0 8 6zM8 6v7.5M3 9c0 3 2.2 4.5 5 4.5S13 12 13 9M5.5 8.5h5',
  link: 'M6.5 9.5 9.5 6.5M7 4.5l1.2-1.2a3 3 0 0 1 4.3 4.3L11.3 8.8M9 11.5l-1.2 1.2a3 3 0 0 1-4.3-4.3l1.2-1.2',
} as const

export type IconName = keyof typeof paths

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  )
}

export function Logo() {
  return (
    <span className="logo">
      <svg
        width="22"
        height="22"
        viewBox="0 0 32 32"
        fill="none"
        strokeWidth="6"
        strokeLinecap="round"
        aria-hidden="true"
      >
        <path d="M7 25 25 7" stroke="var(--baton)" />
        <path d="M7 25l7-7" stroke="var(--live)" />
      </svg>
      Baton
    </span>
  )
}
