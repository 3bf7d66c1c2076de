// When the agent hands off by itself: at the end of a turn, when its context has grown past a threshold.

/** `80%` of the window, or a number of tokens. */
export type Threshold = `${number}%` | number

export interface AutomaticHandoff {
  /** False: never. Unless given, 80 % of the window. */
  at?: Threshold | false
  /** Warn once when the context passes this; models get worse long before their window is full. */
  warnAt?: Threshold | false
  /** Seconds that lie between two automatic handoffs. */
  cooldown?: number
  /** The model writes the narrative of the document; without it the ledger does. */
  narrative?: boolean
  /** Of the document, in tokens. */
  budget?: number
}
