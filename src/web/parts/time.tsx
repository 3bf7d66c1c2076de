// Times: how long ago, with the exact time on hover. All of them follow one clock.

import { useValue, value } from '../data/store.ts'
import { spanText } from './numbers.ts'

/** Now, to ten seconds. */
const clock = value(Date.now())
window.setInterval(() => clock.set(Date.now()), 10_000)

export function useNow(): number {
  return useValue(clock)
}

export function Ago({ date, className }: { date: string; className?: string }) {
  const now = useNow()
  const at = Date.parse(date)
  if (Number.isNaN(at)) return <>–</>
  const ago = now - at
  const text = ago < 10_000 && ago > -10_000 ? 'now' : ago > 0 ? `${spanText(coarse(ago))} ago` : `in ${spanText(-ago)}`
  return (
    <time dateTime={date} title={fullTime(at)} className={className === undefined ? 'ago' : `ago ${className}`}>
      {text}
    </time>
  )
}

/** Nobody needs the minutes of what was hours ago. */
function coarse(ms: number): number {
  return ms < 3_600_000 ? ms : Math.floor(ms / 3_600_000) * 3_600_000
}

const clockFormat = new Intl.DateTimeFormat('en', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
})
const minuteFormat = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hour12: false })
const dayFormat = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' })
const fullFormat = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium', hour12: false })

function fullTime(at: number): string {
  return fullFormat.format(at)
}

export function minuteTime(at: number): string {
  return minuteFormat.format(at)
}

export function secondTime(at: number): string {
  return clockFormat.format(at)
}

/** The time of day; with the day if it is another than today. */
export function Clock({ date }: { date: string }) {
  const now = useNow()
  const at = Date.parse(date)
  if (Number.isNaN(at)) return <>–</>
  const isToday = new Date(at).toDateString() === new Date(now).toDateString()
  return (
    <time dateTime={date} title={fullTime(at)} className="number">
      {isToday ? clockFormat.format(at) : `${dayFormat.format(at)} ${minuteFormat.format(at)}`}
    </time>
  )
}
