// When a limit ends, from the words in which an agent says so: "resets 6:46am (UTC)", "resets Mon 9am", "resets Nov 20, 3:05 PM",
// "resets 11/20/2026 at noon", "try again in 3 days 4 hours", "will reset after 2h15m30s". A clock time without a zone is this machine's.

const announces = /(?:(?:resets?|try again|retry|available again|lifted)\b|limit reached\|)[\s:-]*/gi
const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const minute = 60_000
const hour = 3_600_000
const day = 24 * hour

/** A message may be repeated for a while after the time that it names: the time is not tomorrow's then. */
const slack = hour

/** Hours east of Greenwich, for the short names that people still use. */
const shortZones: Readonly<Record<string, number>> = {
  UTC: 0, GMT: 0, Z: 0, WET: 0, BST: 1, CET: 1, WEST: 1, CEST: 2, EET: 2, EEST: 3, MSK: 3, IST: 5.5, JST: 9, KST: 9,
  AEST: 10, AEDT: 11, EST: -5, EDT: -4, CST: -6, CDT: -5, MST: -7, MDT: -6, PST: -8, PDT: -7,
} // prettier-ignore

/** `at`: when it was said. Undefined where the words name no time that is understood. */
export function limitEnd(words: string, at: string | undefined): string | undefined {
  const now = Date.parse(at ?? '')
  for (const { index, 0: announced } of words.matchAll(announces)) {
    const rest = words.slice(index + announced.length, index + announced.length + 120)
    const end = absolute(rest) ?? (Number.isNaN(now) ? undefined : (relative(rest, now) ?? named(rest, now)))
    if (end !== undefined) return new Date(end).toISOString()
  }
  return undefined
}

/** A whole date, such as 2026-11-18T03:00:00Z, or the seconds or milliseconds since 1970. */
function absolute(words: string): number | undefined {
  const counted = /^(?:at |on )?(\d{10}|\d{13})\b/.exec(words)?.[1]
  if (counted !== undefined) return Number(counted.padEnd(13, '0'))
  const [whole = '', date, time, zone] =
    /^(?:at |on )?(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)\s*(Z|[+-]\d\d:?\d\d)?/.exec(words) ?? []
  if (date === undefined || time === undefined) return undefined
  if (zone !== undefined) return Date.parse(`${date}T${time}${zone}`)
  const [year, month, on] = date.split('-').map(Number)
  const [hours, minutes] = time.split(':').map(Number)
  return instant({ year: year!, month: month! - 1, day: on! }, hours!, minutes!, zoneIn(words.slice(whole.length)))
}

const units: Readonly<Record<string, number>> = { d: day, h: hour, m: minute, s: 1_000, w: 7 * day }

/** One part of a span, such as "3 days", "1.5h" or "an hour". */
const part =
  /(\d+(?:\.\d+)?|\b(?:an?|one|half an?)\s)\s*(weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)(?![a-z])/i
const spanned = new RegExp(
  `^(in|after)[\\s:-]+(?:about |around |approximately )?((?:${part.source}[\\s,]*(?:and\\s+)?)+|\\d+(?![\\d.:/]))`,
  'i',
)

/** A span, such as "in 3 days 4 hours 9 minutes" or "after 2h15m30s"; a bare number counts seconds. */
function relative(words: string, now: number): number | undefined {
  const span = spanned.exec(words)?.[2]
  if (span === undefined) return undefined
  if (/^\d+$/.test(span)) return now + Number(span) * 1_000
  let ms = 0
  for (const [, count, unit] of span.matchAll(new RegExp(part, 'gi'))) {
    ms += (count!.startsWith('half') ? 0.5 : Number(count) || 1) * units[unit![0]!.toLowerCase()]!
  }
  return now + ms
}

/** A time of day, with a weekday or a date where one is named. */
function named(words: string, now: number): number | undefined {
  const clock =
    /(?:^|[\s,])(\d{1,2})(?::(\d\d))?(?::\d\d)?\s*([ap])\.?m\b\.?/i.exec(words) ?? /\b(\d{1,2}):(\d\d)\b/.exec(words)
  const wordForHour = clock === null ? /\b(noon|midnight)\b/i.exec(words)?.[1]?.toLowerCase() : undefined
  const date = dateIn(words) ?? numericDateIn(words)
  const dayOfMonth = /^(?:at |on )*the (\d{1,2})(?:st|nd|rd|th)\b/i.exec(words)?.[1]
  const weekday = /^(?:at |on |this |next )*(sun|mon|tue|wed|thu|fri|sat)[a-z]*\b/i.exec(words)?.[1]?.toLowerCase()
  if ([clock ?? undefined, wordForHour, date, dayOfMonth, weekday].every((each) => each === undefined)) return undefined
  const [, said = wordForHour === 'noon' ? '12' : '0', minutes = '0', half] = clock ?? []
  const hours = half === undefined ? Number(said) : (Number(said) % 12) + (half.toLowerCase() === 'p' ? 12 : 0)
  const zone = zoneIn(words)
  const today = dateAt(now, zone)
  const on = (days: number) => instant({ ...today, day: today.day + days }, hours, Number(minutes), zone)
  if (date !== undefined) {
    const years = date.year === undefined ? [today.year - 1, today.year, today.year + 1] : [date.year]
    return years
      .map((year) => instant({ ...date, year }, hours, Number(minutes), zone))
      .find((each) => each >= now - day)
  }
  const isOn = (days: number) => {
    const that = new Date(Date.UTC(today.year, today.month, today.day + days))
    if (dayOfMonth !== undefined) return that.getUTCDate() === Number(dayOfMonth)
    return weekday === undefined || dayNames[that.getUTCDay()] === weekday
  }
  const first = /\btomorrow\b/i.test(words) ? 1 : 0
  const last = dayOfMonth === undefined ? 8 : 62
  for (let days = first; days <= last; days++) if (isOn(days) && on(days) >= now - slack) return on(days)
  return undefined
}

interface CalendarDate {
  readonly year: number
  /** From 0. */
  readonly month: number
  readonly day: number
}

function dateIn(words: string): (Omit<CalendarDate, 'year'> & { readonly year: number | undefined }) | undefined {
  const month = `(${monthNames.join('|')})[a-z]*\\.?`
  const [, name, on, year] =
    new RegExp(`\\b${month} (\\d{1,2})(?:st|nd|rd|th)?\\b(?!:)(?:,? (\\d{4})\\b)?`, 'i').exec(words) ?? []
  const [, onFirst, nameSecond, yearSecond] =
    new RegExp(`\\b(\\d{1,2})(?:st|nd|rd|th)? ${month}(?:,? (\\d{4})\\b)?`, 'i').exec(words) ?? []
  const found = name ?? nameSecond
  if (found === undefined) return undefined
  const given = name === undefined ? yearSecond : year
  return {
    month: monthNames.indexOf(found.toLowerCase()),
    day: Number(name === undefined ? onFirst : on),
    year: given === undefined ? undefined : Number(given),
  }
}

/** "11/20/2026" has the month first and "20.11.2026" the day, unless the numbers allow only the other. */
function numericDateIn(words: string): ReturnType<typeof dateIn> {
  const [, one, sign, two, year] = /\b(\d{1,2})([/.])(\d{1,2})\2(\d{4})\b/.exec(words) ?? []
  if (one === undefined) return undefined
  const isDayFirst = Number(one) > 12 || (sign === '.' && Number(two) <= 12)
  const [month, day] = isDayFirst ? [two, one] : [one, two]
  return { month: Number(month) - 1, day: Number(day), year: Number(year) }
}

/** The name of a zone, or minutes east of Greenwich. */
type Zone = string | number

function zoneIn(words: string): Zone {
  const name = /\b([A-Z][A-Za-z]+(?:\/[A-Za-z_+-]+\d*)+)/.exec(words)?.[1]
  if (name !== undefined && isZone(name)) return name
  const [, sign, hours, minutes = '0'] = /(?:UTC|GMT|\(|\s)([+-])(\d{1,2})(?::?(\d\d))?(?!\d)/.exec(words) ?? []
  if (sign !== undefined) return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
  const short = [...words.matchAll(/\b([A-Z]{1,4})\b/g)].find(([, each]) => Object.hasOwn(shortZones, each!))?.[1]
  return short === undefined ? new Intl.DateTimeFormat().resolvedOptions().timeZone : shortZones[short]! * 60
}

function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) instanceof Intl.DateTimeFormat
  } catch {
    return false // this machine does not know it
  }
}

/** The moment at which the clocks of that zone show that time. */
function instant({ year, month, day: on }: CalendarDate, hours: number, minutes: number, zone: Zone): number {
  const wall = Date.UTC(year, month, on, hours, minutes)
  // The offset may change between the first guess and the moment itself.
  const guess = wall - offsetAt(wall, zone)
  return wall - offsetAt(guess, zone)
}

function dateAt(now: number, zone: Zone): CalendarDate {
  const there = new Date(now + offsetAt(now, zone))
  return { year: there.getUTCFullYear(), month: there.getUTCMonth(), day: there.getUTCDate() }
}

/** Milliseconds by which the clocks of that zone are ahead of Greenwich. */
function offsetAt(now: number, zone: Zone): number {
  if (typeof zone === 'number') return zone * minute
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  const parts = Object.fromEntries(format.formatToParts(now).map(({ type, value }) => [type, Number(value)]))
  const { year, month, day: on, hour: hours, minute: minutes, second } = parts
  return Date.UTC(year!, month! - 1, on, hours, minutes, second) - Math.floor(now / 1000) * 1000
}
