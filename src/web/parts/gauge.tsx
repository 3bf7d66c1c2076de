// How full a context is: a bar with marks where a handoff will be made and where the agent would compact by itself.

import { shareText, tokensText } from './numbers.ts'

interface GaugeProps {
  /** 0 to 1. Undefined: not known. */
  readonly share: number | undefined
  readonly tokens?: number
  readonly window?: number
  /** Where Baton hands over. */
  readonly threshold?: number
  /** Where the agent compacts by itself. */
  readonly compaction?: number
}

export function Gauge({ share, tokens, window, threshold, compaction }: GaugeProps) {
  if (share === undefined) return <span className="faint small">not known</span>
  const isFull = share >= (threshold ?? compaction ?? 0.9)
  const title = [
    tokens === undefined
      ? undefined
      : `${tokensText(tokens)}${window === undefined ? '' : ` of ${tokensText(window)}`} tokens`,
    threshold === undefined ? undefined : `handoff at ${shareText(threshold)}`,
    compaction === undefined ? undefined : `compacts by itself at ${shareText(compaction)}`,
  ].filter((each) => each !== undefined)
  return (
    <span className={isFull ? 'gauge gauge-full' : 'gauge'} title={title.join('\n')}>
      <span
        className="gauge-bar"
        role="meter"
        aria-label="Context used"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(share * 100)}
      >
        <span className="gauge-fill" style={{ width: `${Math.min(100, share * 100)}%` }} />
        {compaction !== undefined && (
          <span className="gauge-mark" style={{ insetInlineStart: `${compaction * 100}%` }} />
        )}
        {threshold !== undefined && (
          <span className="gauge-mark gauge-threshold" style={{ insetInlineStart: `${threshold * 100}%` }} />
        )}
      </span>
      <span className="gauge-text number">{shareText(share)}</span>
    </span>
  )
}
