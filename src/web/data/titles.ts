// What people call a tape: the title of the session that it was imported from, or its name without the parts that only programs need.

import { useMemo } from 'react'
import { sessionsAsked, useOperation } from './queries.ts'

export function useTitles(): (tape: string) => string {
  const sessions = useOperation('sessionList', sessionsAsked).data?.sessions
  return useMemo(() => {
    const titles = new Map((sessions ?? []).map(({ agent, id, title }) => [`${agent}:${id}`, title]))
    return (tape) => titles.get(tape) ?? shortName(tape)
  }, [sessions])
}

/** `session/demo`: demo. `pi:3a3892ba-4268-4d65-…`: pi 3a3892ba. */
export function shortName(tape: string): string {
  const [, agent, id] = /^(\w+):([\da-f]{8})-[\da-f-]{20,}$/.exec(tape) ?? []
  return agent === undefined ? tape.replace(/^session\//, '') : `${agent} ${id}`
}

/** Who wrote a document, in words. */
export function writerText(writer: string): string {
  if (writer === 'ledger') return 'from the tape'
  return writer === 'agent' ? 'by the agent' : `by ${writer}`
}
