// What the parts of an agent share while it runs. The tape and the model may change between turns, never during one.

import type { LanguageModel } from 'ai'
import type { Tape } from '../tape/index.ts'
import type { AgentOptions } from './agent.ts'
import type { AutoHandoff } from './auto-handoff.ts'
import type { AgentEvent } from './event.ts'
import type { Gauge } from './gauge.ts'
import type { Holder } from './holder.ts'
import type { Queue } from './queue.ts'
import type { ChildRequest, ChildResult } from './tool.ts'
import type { Toolbox } from './toolbox.ts'

export interface Session {
  tape: Tape
  model: { readonly name: string; readonly model: LanguageModel } | undefined
  window: number | undefined
  system: string
  gauge: Gauge
  readonly toolbox: Toolbox
  readonly queue: Queue
  readonly auto: AutoHandoff
  readonly holder: Holder
  readonly cwd: string
  readonly options: AgentOptions
  readonly emit: (event: AgentEvent) => void
  /** Missing in an agent that may have no children. */
  readonly spawn: ((child: ChildRequest, signal: AbortSignal) => Promise<ChildResult>) | undefined
  /** The provider said how much its model takes. */
  readonly learnWindow: (tokens: number) => void
  readonly now: () => Date
}
