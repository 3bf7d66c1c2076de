// The part that Baton's plugins for opencode and pi share: a call of `baton hook` that never throws and never takes long.

import type { Place } from './connection.ts'

/** JavaScript that defines `call(event, input)`, which resolves with the text for the model, or with undefined. */
export function forwarding({ self: [node, script] }: Place, agent: string): string {
  return `// Written by "baton connect ${agent}"; "baton disconnect ${agent}" removes it.
import { spawn } from 'node:child_process'

const patienceMs = 3000

/** The agent goes on whatever happens here. */
function call(event, input) {
  return new Promise((resolve) => {
    let out = ''
    const enough = setTimeout(() => resolve(undefined), patienceMs)
    const done = (text) => (clearTimeout(enough), resolve(text))
    try {
      const child = spawn(${JSON.stringify(node)}, [${JSON.stringify(script)}, 'hook', '${agent}', event], { stdio: ['pipe', 'pipe', 'ignore'] })
      child.on('error', () => done(undefined))
      child.stdin.on('error', () => {})
      child.stdout.on('data', (chunk) => (out += chunk))
      child.on('close', () => {
        try {
          done(out.trim() === '' ? undefined : JSON.parse(out).hookSpecificOutput.additionalContext)
        } catch {
          done(undefined)
        }
      })
      child.stdin.end(JSON.stringify(input))
    } catch {
      done(undefined)
    }
  })
}
`
}
