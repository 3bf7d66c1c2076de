// `baton hook claude statusline`: the person's own line with Baton's behind it.

import {
  HookState,
  joinStatus,
  originalStatusLine,
  ownStatusLine,
  type StatusInput,
  statusText,
} from '../../connect/index.ts'
import type { Io } from '../base/io.ts'

export async function printStatusLine(io: Io, agent: string, text: string): Promise<void> {
  const input = (text.trim() === '' ? {} : JSON.parse(text)) as StatusInput & { session_id?: string }
  const command = originalStatusLine(io.env, agent)
  const own = command === undefined ? '' : ownStatusLine(command, text, io.env)
  const gauge = new HookState(io.env).gauge(agent, input.session_id ?? '')
  io.stdout.write(`${joinStatus(own, statusText(input, gauge))}\n`)
}
