// Numbers as people read them.

export function countText(n: number): string {
  return n.toLocaleString('en')
}

/** 128_400: 128k. */
export function tokensText(n: number): string {
  if (n < 1_000) return String(Math.round(n))
  if (n < 10_000) return `${(n / 1_000).toFixed(1)}k`
  if (n < 1_000_000) return `${Math.round(n / 1_000)}k`
  return `${(n / 1_000_000).toFixed(n < 10_000_000 ? 1 : 0)}M`
}

export function bytesText(n: number): string {
  if (n < 1_000) return `${n} B`
  if (n < 1_000_000) return `${Math.round(n / 1_000)} kB`
  if (n < 1_000_000_000) return `${(n / 1_000_000).toFixed(1)} MB`
  return `${(n / 1_000_000_000).toFixed(1)} GB`
}

export function usdText(n: number): string {
  if (n === 0) return '$0'
  if (n < 0.01) return '<$0.01'
  return `$${n.toFixed(2)}`
}

/** 0 to 1 as percent. */
export function shareText(share: number): string {
  return `${Math.round(share * 100)}%`
}

/** A stretch of time: 40 ms, 4 s, 12 min, 3 h 5 min, 2 d. */
export function spanText(ms: number): string {
  if (ms >= 0 && ms < 1_000) return `${Math.round(ms)} ms`
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`
  return `${Math.round(hours / 24)} d`
}
