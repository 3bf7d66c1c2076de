// Dates of entries, as text.

const iso8601 = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/
/** As programs write them, and on a day that every month has: those are dates without a further look. */
const plain = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/

let lastFound = ''

/** Whether a value is a date in ISO 8601. Entries of one moment come together, and each date is looked at several times. */
export function isDate(value: unknown): value is string {
  if (typeof value !== 'string') return false
  if (value === lastFound && value !== '') return true
  if (!plain.test(value) && (!iso8601.test(value) || Number.isNaN(Date.parse(value)))) return false
  lastFound = value
  return true
}
