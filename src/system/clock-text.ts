// Times for people: local, and with the day wherever it is not today's.

export function timeText(date: Date | string | number, now: Date | number = Date.now()): string {
  const time = new Date(date)
  const clock = time.toTimeString().slice(0, 5)
  if (time.toDateString() === new Date(now).toDateString()) return clock
  const day = time.toLocaleDateString('en-GB', { weekday: 'short', day: 'numeric', month: 'short' }).replace(',', '')
  const year = time.getFullYear() === new Date(now).getFullYear() ? '' : ` ${time.getFullYear()}`
  return `${day}${year} ${clock}`
}
