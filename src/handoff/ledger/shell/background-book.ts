// What was started in the background and has not been seen to end: by the agent's own means, with `&`, in a container or
// in tmux.

import type { BackgroundTask } from '../facts.ts'
import { programOf } from './file-effects.ts'
import type { Step } from './steps.ts'
import { line } from '../tools/tool-calls.ts'

interface Running {
  fact: { -readonly [key in keyof BackgroundTask]: BackgroundTask[key] }
  /** Called when the task ends, where somebody waits for the outcome. */
  ended?: Ended
}
/** `ok` is undefined when the task ended and nothing is known about how. */
export type Ended = (ok: boolean | undefined, id: number) => void

export class BackgroundBook {
  readonly #running = new Map<string, Running>()
  #nameless = 0

  start(command: string, handle: string | undefined, id: number, ended?: Ended, checks = false): void {
    const key = handle ?? `\u0000${(this.#nameless += 1)}`
    const fact = { command: line(command), ...(checks && { checks: true as const }), handle, startedId: id, lastId: id }
    this.#running.set(key, { fact, ...(ended && { ended }) })
  }

  has(handle: string): boolean {
    return this.#running.has(handle)
  }

  seen(handle: string, id: number): void {
    const task = this.#running.get(handle)
    if (task) task.fact.lastId = id
  }

  end(handle: string, ok: boolean | undefined, id: number): void {
    const task = this.#running.get(handle)
    if (!task) return
    this.#running.delete(handle)
    task.ended?.(ok, id)
  }

  /** Books what the steps of a script that succeeded start and stop. */
  book(steps: readonly Step[], output: string, id: number): void {
    for (const [index, step] of steps.entries()) {
      this.#stop(step, id)
      const detached = detachedBy(step)
      if (detached !== undefined) this.start(commandOf(step), detached, id)
      else if (step.background && step.sure && step.program !== '') {
        const settled = steps
          .slice(index + 1)
          .some((later) => /^(?:wait|kill|pkill|killall|fg)$/.test(programOf(later)))
        const piped =
          steps[index - 1]?.background === true && steps[index - 1]?.hidden === true && step.outputs.length === 0
        if (!settled && !piped) this.start(commandOf(step), pidIn(output), id)
      }
    }
  }

  facts(): BackgroundTask[] {
    return [...this.#running.values()].map(({ fact }) => fact)
  }

  #stop(step: Step, id: number): void {
    if (this.#running.size === 0) return
    const program = programOf(step)
    const words = step.args.flatMap(({ text }) => (text === undefined ? [] : [text]))
    const operands = words.filter((word) => !word.startsWith('-'))
    if (program === 'kill') for (const word of operands) this.end(word, undefined, id)
    else if (program === 'pkill' || program === 'killall') {
      this.#endWhere(({ command }) => operands.some((word) => matches(command, word)), id)
    } else if (program === 'docker' || program === 'podman' || program === 'docker-compose') {
      if (
        /\bcompose\b.*\b(?:down|stop|rm)\b|^(?:down|stop)\b/.test(
          `${program} ${words.join(' ')}`.replace('docker-compose', 'compose'),
        )
      ) {
        this.#endWhere(({ handle }) => handle === 'docker compose', id)
      } else if (/^(?:stop|kill|rm)$/.test(operands[0] ?? ''))
        for (const name of operands.slice(1)) this.end(name, undefined, id)
    } else if (program === 'tmux') {
      if (words.includes('kill-server')) this.#endWhere(({ handle }) => handle?.startsWith('tmux:') === true, id)
      else if (words[0] === 'kill-session') this.end(`tmux:${words[words.indexOf('-t') + 1] ?? ''}`, undefined, id)
    }
  }

  #endWhere(test: (fact: BackgroundTask) => boolean, id: number): void {
    for (const [key, { fact }] of this.#running) if (test(fact)) this.end(key, undefined, id)
  }
}

const detachingPrograms = new Set(['docker', 'podman', 'docker-compose', 'tmux'])

/** The handle of something that is meant to outlive the command, such as a container or a tmux session. */
function detachedBy(step: Step): string | undefined {
  const program = programOf(step)
  if (!detachingPrograms.has(program)) return undefined
  const words = step.args.flatMap(({ text }) => (text === undefined ? [] : [text]))
  const detached = words.some((word) => word === '--detach' || /^-[a-z]*d[a-z]*$/.test(word))
  if (!detached) return undefined
  if (program === 'docker-compose' || ((program === 'docker' || program === 'podman') && words[0] === 'compose')) {
    return words.includes('up') ? 'docker compose' : undefined
  }
  if ((program === 'docker' || program === 'podman') && words[0] === 'run') {
    const named = words.indexOf('--name')
    return named >= 0 ? words[named + 1] : (words.find((word) => word.startsWith('--name='))?.slice(7) ?? words.at(-1))
  }
  if (program === 'tmux' && /^new(?:-session)?$/.test(words[0] ?? '')) {
    const named = words.findIndex((word) => /^-[a-z]*s$/.test(word))
    return `tmux:${named >= 0 ? (words[named + 1] ?? '') : ''}`
  }
  return undefined
}

function commandOf(step: Step): string {
  return [programOf(step), ...step.args.map(({ text }) => text ?? '$…')].join(' ')
}

/** A shell prints `[1] 4711`; scripts often `echo $!`. */
function pidIn(output: string): string | undefined {
  const head = output.slice(0, 2_000)
  return /^\[\d+\] (\d+)$/m.exec(head)?.[1] ?? /^(?:PID[:= ]*|pid[:= ]*)?(\d{2,7})$/m.exec(head)?.[1]
}

/** A pattern of `pkill -f`, read as plain words: running a stranger's pattern could take for ever. */
function matches(command: string, pattern: string): boolean {
  return pattern.split('|').some((choice) => {
    const words = choice.split(/\.\*|[\\^$()[\]]/).filter((word) => word !== '')
    return words.length > 0 && words.every((word) => command.includes(word))
  })
}
