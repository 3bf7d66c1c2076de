// When a plan's limit ends, from the words that Claude Code shows: "You've hit your limit · resets 8:54pm (UTC)", or the
// older "Claude AI usage limit reached|1760000000".

export function limitIn(words: string, at: string | undefined): { until?: string } | undefined {
  const stamped = /limit reached\|(\d{9,11})/.exec(words)?.[1]
  if (stamped !== undefined) return { until: new Date(Number(stamped) * 1000).toISOString() }
  if (!/\blimit\b/i.test(words)) return undefined
  const clock =
    /resets?(?: at)? (?:([A-Z][a-z]{2}) (\d{1,2}),? ?(?:at )?)?(\d{1,2})(?::(\d\d))? ?(am|pm)(?: \(([\w/+-]+)\))?/i.exec(
      words,
    )
  if (clock === null || at === undefined) return {}
  const [, month, day, hour, minute = '0', half, zone = 'UTC'] = clock
  const hours = (Number(hour) % 12) + (half!.toLowerCase() === 'pm' ? 12 : 0)
  const until = nextTime(at, hours, Number(minute), zone, month === undefined ? undefined : { month, day: Number(day) })
  return until === undefined ? {} : { until }
}

/** The first moment after `at` when the clocks of `zone` show that time. */
function nextTime(
  at: string,
  hours: number,
  minutes: number,
  zone: string,
  on: { month: string; day: number } | undefined,
): string | undefined {
  const start = new Date(at)
  start.setUTCSeconds(0, 0)
  let format: Intl.DateTimeFormat
  try {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      month: 'short',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      hourCycle: 'h23',
    })
  } catch {
    return undefined // a zone that this machine does not know: the words still say it
  }
  // Zones lie on quarters of an hour, so the minute of the hour is found within one, and then the hour.
  for (let ahead = 1; ahead <= 8 * 24 * 60; ahead++) {
    const moment = new Date(start.getTime() + ahead * 60_000)
    if (moment.getUTCMinutes() % 15 !== minutes % 15) continue
    const parts = Object.fromEntries(format.formatToParts(moment).map(({ type, value }) => [type, value]))
    if (Number(parts.hour) !== hours || Number(parts.minute) !== minutes) continue
    if (on === undefined || (parts.month === on.month && Number(parts.day) === on.day)) return moment.toISOString()
  }
  return undefined
}
