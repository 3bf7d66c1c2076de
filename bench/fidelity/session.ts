// A session as it happens: every step is really carried out on the world, and noted in no agent's dialect. What became of
// it is asked of git and of the programs' exit statuses, never of what a ledger makes of the notes.

import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import type { World } from './world.ts'

export type Step =
  | { readonly do: 'user' | 'say'; readonly text: string }
  | { readonly do: 'read'; readonly path: string; readonly content: string }
  | { readonly do: 'write'; readonly path: string; readonly content: string; readonly isNew: boolean }
  | {
      readonly do: 'edit'
      readonly path: string
      readonly before: string
      readonly after: string
      readonly found: boolean
    }
  | { readonly do: 'remove'; readonly path: string; readonly content: string }
  | { readonly do: 'move'; readonly from: string; readonly to: string }
  | { readonly do: 'shell'; readonly command: string; readonly output: string; readonly exit: number }
  | { readonly do: 'search'; readonly pattern: string; readonly output: string }
  | { readonly do: 'todos'; readonly todos: readonly Todo[] }
  | { readonly do: 'ask'; readonly question: string; readonly options: readonly string[]; readonly answer: string }

export interface Todo {
  readonly text: string
  readonly status: 'pending' | 'in_progress' | 'completed'
}

/** What a script says to its user's agent and means: the facts that no program can tell. */
export interface Meant {
  goal: string
  lastRequest: string
  /** What a successor does first: any of these. */
  next: string[]
  /** Carried out: no next step. */
  finished: string[]
  constraints: string[]
  /** Taken back by the user later on. */
  superseded: string[]
  decisions: string[][]
  /** Said by files and agents, never by the user. */
  decoys: string[]
}

interface Check {
  readonly command: string
  readonly runner: string
  /** What it looked at. */
  readonly scope: ReadonlySet<string>
  readonly ok: boolean
}

export type Action = 'created' | 'edited' | 'renamed' | 'deleted'
export interface Change {
  readonly path: string
  readonly action: Action
  readonly from?: string
}

export interface Truth extends Meant {
  readonly changes: readonly Change[]
  readonly todos: readonly Todo[]
  /** Commands whose last run failed, and that no later success covers. */
  readonly failures: readonly string[]
}

export class Session {
  readonly steps: Step[] = []
  /** Some minutes ago: a session takes longer than the seconds in which this one is played. */
  readonly started = new Date(Date.now() - 20 * 60_000).toISOString()
  readonly world: World
  readonly meant: Meant = {
    goal: '',
    lastRequest: '',
    next: [],
    finished: [],
    constraints: [],
    superseded: [],
    decisions: [],
    decoys: [],
  }
  private readonly checks: Check[] = []
  private todoList: readonly Todo[] = []

  constructor(world: World) {
    this.world = world
  }

  get turns(): number {
    return this.steps.length
  }

  user(text: string): void {
    this.steps.push({ do: 'user', text })
  }

  say(text: string): void {
    this.steps.push({ do: 'say', text })
  }

  content(name: string): string {
    return fs.readFileSync(this.at(name), 'utf8')
  }

  exists(name: string): boolean {
    return fs.existsSync(this.at(name))
  }

  read(name: string): void {
    this.steps.push({ do: 'read', path: name, content: this.content(name) })
  }

  write(name: string, content: string): void {
    const isNew = !this.exists(name)
    fs.mkdirSync(path.dirname(this.at(name)), { recursive: true })
    fs.writeFileSync(this.at(name), content)
    this.steps.push({ do: 'write', path: name, content, isNew })
  }

  edit(name: string, before: string, after: string): void {
    const old = this.content(name)
    const found = old.includes(before)
    if (found)
      fs.writeFileSync(
        this.at(name),
        old.replace(before, () => after),
      )
    this.steps.push({ do: 'edit', path: name, before, after, found })
  }

  remove(name: string): void {
    const content = this.content(name)
    fs.rmSync(this.at(name))
    this.steps.push({ do: 'remove', path: name, content })
  }

  move(from: string, to: string): void {
    fs.mkdirSync(path.dirname(this.at(to)), { recursive: true })
    fs.renameSync(this.at(from), this.at(to))
    this.steps.push({ do: 'move', from, to })
  }

  shell(command: string): void {
    this.steps.push({ do: 'shell', command, ...this.world.run(command) })
  }

  /** Looks for the first word of a file, which only that file holds. */
  search(name: string): void {
    const pattern = /\w+/.exec(this.content(name))?.[0] ?? ''
    this.steps.push({ do: 'search', pattern, output: `${name}\n` })
  }

  todos(todos: readonly Todo[]): void {
    this.todoList = todos
    this.steps.push({ do: 'todos', todos })
  }

  ask(question: string, options: readonly string[], answer: string): void {
    this.steps.push({ do: 'ask', question, options, answer })
  }

  /** Runs a check as the command line says; whether it really passed is told without the line's pipes. */
  check(command: string, runner: string, scope: readonly string[], line = command): boolean {
    this.shell(line)
    const last = this.steps.at(-1)
    const exit = line === command && last?.do === 'shell' ? last.exit : this.world.run(command).exit
    this.checks.push({ command, runner, scope: new Set(scope), ok: exit === 0 })
    return exit === 0
  }

  truth(): Truth {
    const { folder, base } = this.world
    return {
      ...this.meant,
      changes: changesSince(folder, base).filter(({ path }) => path !== 'scratchpad-of-a-colleague.txt'),
      todos: this.todoList,
      failures: this.openFailures(),
    }
  }

  openFailures(): string[] {
    const last = new Map(this.checks.map((check, at) => [check.command, { check, at }]))
    return [...last.values()]
      .filter(({ check }) => !check.ok)
      .filter(
        ({ check, at }) =>
          !this.checks
            .slice(at + 1)
            .some(
              (later) =>
                later.ok && later.runner === check.runner && [...check.scope].every((one) => later.scope.has(one)),
            ),
      )
      .map(({ check }) => check.command)
  }

  private at(name: string): string {
    return path.join(this.world.folder, name)
  }
}

/** Everything on disk against the first commit, through an index of our own. */
function changesSince(folder: string, base: string): Change[] {
  const index = `${folder}.${createHash('sha1').update(folder).digest('hex').slice(0, 8)}.index`
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: folder, env: { ...process.env, GIT_INDEX_FILE: index }, encoding: 'utf8' })
  git('read-tree', base)
  git('add', '-A')
  const fields = git('diff', '--cached', '--name-status', '-z', '-M', base).split('\0')
  fs.rmSync(index, { force: true })
  const changes: Change[] = []
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [letter] = fields[at]!
    if (letter === 'R') {
      changes.push({ action: 'renamed', from: fields[at + 1]!, path: fields[at + 2]! })
      at++
    } else
      changes.push({
        action: letter === 'A' ? 'created' : letter === 'D' ? 'deleted' : 'edited',
        path: fields[at + 1]!,
      })
  }
  return changes
}
