// What else keeps an agent's messages, each used the fastest way it offers. Installed on first use into bench/peers,
// which has its own lock file and is no part of the package.

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Contender } from './contest.ts'
import { message, type Message } from './messages.ts'

const home = fileURLToPath(new URL('peers/', import.meta.url))
const load = createRequire(path.join(home, 'package.json'))

/** `compiled`: also SQLite, which takes two minutes to compile and which only some benches need. */
export function installPeers({ compiled }: { compiled: boolean }): void {
  const wanted = fs.readFileSync(path.join(home, 'package-lock.json'), 'utf8')
  once('.installed', wanted, 'installing the peers', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'])
  if (compiled) once('.compiled', wanted, 'compiling SQLite, about two minutes', ['rebuild', 'better-sqlite3'])
}

/** Runs npm among the peers unless that was done for the same lock file before. */
function once(stampName: string, wanted: string, what: string, args: readonly string[]): void {
  const stamp = path.join(home, 'node_modules', stampName)
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === wanted) return
  process.stderr.write(`bench: ${what} (npm ${args[0]} in bench/peers)\n`)
  const { status, stderr } = spawnSync('npm', args, { cwd: home, encoding: 'utf8' })
  if (status !== 0) throw new Error(`npm ${args[0]} in bench/peers failed\n${stderr}`)
  fs.writeFileSync(stamp, wanted)
}

/** Fills a folder with so many messages, and reads back from it what a model would be given. */
export interface Keeper {
  readonly name: string
  fill(folder: string, count: number): Promise<void>
  /** The number of messages read; what is loaded by import is not part of the time. */
  prepare(folder: string): Promise<() => Promise<number>>
}

interface Statement {
  run(...values: unknown[]): unknown
  all(...values: unknown[]): { body: string }[]
}

interface Database {
  pragma(text: string): unknown
  exec(text: string): unknown
  prepare(text: string): Statement
  transaction(work: () => void): () => void
  close(): void
}

function openSqlite(folder: string): Database {
  const Sqlite = load('better-sqlite3') as new (file: string) => Database
  const db = new Sqlite(path.join(folder, 'sqlite.db'))
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.exec('CREATE TABLE IF NOT EXISTS entry (tape TEXT, id INTEGER, body TEXT, PRIMARY KEY (tape, id)) WITHOUT ROWID')
  return db
}

const insert = 'INSERT INTO entry VALUES (?, ?, ?)'

export const sqlite: Contender & Keeper = {
  name: 'better-sqlite3, synchronous=FULL',
  async open(folder) {
    const db = openSqlite(folder)
    const row = db.prepare(insert)
    return {
      async append(from, count) {
        for (let i = from; i < from + count; i++) row.run('main', i, JSON.stringify(message(i)))
      },
      close: async () => db.close(),
    }
  },
  async fill(folder, count) {
    const db = openSqlite(folder)
    const row = db.prepare(insert)
    db.transaction(() => {
      for (let i = 0; i < count; i++) row.run('main', i, JSON.stringify(message(i)))
    })()
    db.close()
  },
  async prepare(folder) {
    load('better-sqlite3')
    return async () => {
      const db = openSqlite(folder)
      const rows = db.prepare('SELECT body FROM entry WHERE tape = ? ORDER BY id DESC LIMIT 200').all('main')
      const messages = rows.map(({ body }) => JSON.parse(body) as Message)
      db.close()
      return messages.length
    }
  },
}

interface SessionManager {
  appendMessage(message: object): void
  buildSessionContext(): { messages: unknown[] }
}

async function loadPi() {
  const entry = path.join(home, 'node_modules/@mariozechner/pi-coding-agent/dist/index.js')
  const { SessionManager } = (await import(pathToFileURL(entry).href)) as {
    SessionManager: {
      create(cwd: string, folder: string): SessionManager
      open(file: string, folder: string): SessionManager
    }
  }
  return SessionManager
}

const piMessage = (i: number) => {
  const { role, content } = message(i)
  return {
    role,
    content: role === 'user' ? content : [{ type: 'text', text: content }],
    timestamp: 1_767_225_600_000 + i,
  }
}

export const pi: Contender & Keeper = {
  name: "pi's SessionManager (no sync)",
  async open(folder) {
    const session = (await loadPi()).create(folder, path.join(folder, 'pi'))
    return {
      async append(from, count) {
        for (let i = from; i < from + count; i++) session.appendMessage(piMessage(i))
      },
      close: async () => {},
    }
  },
  async fill(folder, count) {
    const session = (await loadPi()).create(folder, folder)
    for (let i = 0; i < count; i++) session.appendMessage(piMessage(i))
  },
  async prepare(folder) {
    const manager = await loadPi()
    const file = fs.readdirSync(folder).find((name) => name.endsWith('.jsonl'))!
    return async () => manager.open(path.join(folder, file), folder).buildSessionContext().messages.length
  },
}

interface Graph {
  addNode(name: string, work: () => unknown): Graph
  addEdge(from: string, to: string): Graph
  addConditionalEdges(from: string, choose: () => string, targets: string[]): Graph
  compile(options: { checkpointer: object }): {
    invoke(input: object, options: object): Promise<unknown>
    updateState(config: object, values: object, node: string): Promise<unknown>
    getState(config: object): Promise<{ values: { messages: unknown[] } }>
  }
}

interface LangGraph<G> {
  StateGraph: new (state: unknown) => G
  MessagesAnnotation: unknown
  START: string
  END: string
}

interface Checkpoints {
  SqliteSaver: { fromConnString(file: string): { db: { close(): void } } }
}

/** LangGraph with its checkpointer; `G` is what a bench uses of a graph. */
function loadGraphs<G>(): LangGraph<G> & Checkpoints {
  const graphs = load('@langchain/langgraph') as LangGraph<G>
  return { ...graphs, ...(load('@langchain/langgraph-checkpoint-sqlite') as Checkpoints) }
}

function loadLangGraph() {
  const { StateGraph, MessagesAnnotation, START, END, SqliteSaver } = loadGraphs<Graph>()
  const messages = load('@langchain/core/messages') as Record<
    'HumanMessage' | 'AIMessage',
    new (fields: { id: string; content: string }) => object
  >
  const asMessage = (i: number) => {
    const { role, content } = message(i)
    return new messages[role === 'user' ? 'HumanMessage' : 'AIMessage']({ id: String(i), content })
  }
  /** A graph whose one node adds the next message until the last is reached: a checkpoint for each. */
  const open = (folder: string) => {
    const checkpointer = SqliteSaver.fromConnString(path.join(folder, 'langgraph.db'))
    const progress = { next: 0, end: 0 }
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('add', () => ({ messages: [asMessage(progress.next++)] }))
      .addEdge(START, 'add')
      .addConditionalEdges('add', () => (progress.next < progress.end ? 'add' : END), ['add', END])
      .compile({ checkpointer })
    return { graph, progress, close: () => checkpointer.db.close() }
  }
  return { open, asMessage }
}

interface LoopMessages {
  HumanMessage: new (fields: object) => object
  AIMessage: new (fields: object) => object
  ToolMessage: new (fields: object) => object
}

/** An agent's loop as a graph: the model, its tool, the model again; every step a checkpoint, durable before the next. */
export async function langGraphLoop(folder: string, size: number) {
  const { StateGraph, MessagesAnnotation, START, END, SqliteSaver } = loadGraphs<LoopGraph>()
  const { HumanMessage, AIMessage, ToolMessage } = load('@langchain/core/messages') as LoopMessages
  const checkpointer = SqliteSaver.fromConnString(path.join(folder, 'langgraph.db'))
  let next = size
  const id = () => `m${next++}`
  const isAnswered = (messages: readonly object[]) => messages.at(-1) instanceof ToolMessage
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('model', ({ messages }) => {
      // What a model is given, made from the state as ours is from the tape.
      JSON.stringify(messages.slice(-40))
      const call = { id: id(), name: 'test_add', args: { a: 1, b: 1 }, type: 'tool_call' }
      const said = isAnswered(messages)
        ? new AIMessage({ id: id(), content: 'It is one more.' })
        : new AIMessage({ id: id(), content: '', tool_calls: [call] })
      return { messages: [said] }
    })
    .addNode('tools', ({ messages }) => {
      const { tool_calls: calls } = messages.at(-1) as { tool_calls: { id: string }[] }
      return { messages: [new ToolMessage({ id: id(), content: '2', tool_call_id: calls[0]!.id })] }
    })
    .addEdge(START, 'model')
    .addConditionalEdges('model', ({ messages }) => (isAnswered(messages.slice(0, -1)) ? END : 'tools'), ['tools', END])
    .addEdge('tools', 'model')
    .compile({ checkpointer })
  const messages = Array.from({ length: size }, (_, i) => {
    const { role, content } = message(i)
    return new (role === 'user' ? HumanMessage : AIMessage)({ id: `m${i}`, content })
  })
  await graph.updateState(thread, { messages }, 'tools')
  return {
    async turn(n: number) {
      const prompt = new HumanMessage({ id: id(), content: `What is ${n} and 1?` })
      await graph.invoke({ messages: [prompt] }, { ...thread, durability: 'sync' })
    },
    close: async () => checkpointer.db.close(),
  }
}

interface LoopGraph {
  addNode(name: string, work: (state: { messages: object[] }) => { messages: object[] }): LoopGraph
  addEdge(from: string, to: string): LoopGraph
  addConditionalEdges(from: string, choose: (state: { messages: object[] }) => string, targets: string[]): LoopGraph
  compile(options: { checkpointer: object }): {
    invoke(input: object, options: object): Promise<unknown>
    updateState(config: object, values: object, node: string): Promise<unknown>
  }
}

const thread = { configurable: { thread_id: 'main' } }

export const langGraph: Contender & Keeper = {
  name: "LangGraph's SQLite checkpointer (WAL, no sync per commit)",
  async open(folder) {
    const { graph, progress, close } = loadLangGraph().open(folder)
    return {
      async append(from, count) {
        Object.assign(progress, { next: from, end: from + count })
        await graph.invoke({ messages: [] }, { ...thread, recursionLimit: count + 5, durability: 'sync' })
      },
      close: async () => close(),
    }
  },
  async fill(folder, count) {
    const { open, asMessage } = loadLangGraph()
    const { graph, close } = open(folder)
    await graph.updateState(thread, { messages: Array.from({ length: count }, (_, i) => asMessage(i)) }, 'add')
    close()
  },
  async prepare(folder) {
    const { open } = loadLangGraph()
    return async () => {
      const { graph, close } = open(folder)
      const { values } = await graph.getState(thread)
      close()
      return values.messages.length
    }
  },
}

/** LangGraph's checkpointer on PostgreSQL: so many messages, a checkpoint for each, durable before the next. */
export async function langGraphOnPostgres(address: string, count: number): Promise<void> {
  const { StateGraph, MessagesAnnotation, START, END } = load('@langchain/langgraph') as {
    StateGraph: new (state: unknown) => LoopGraph
    MessagesAnnotation: unknown
    START: string
    END: string
  }
  const { PostgresSaver } = load('@langchain/langgraph-checkpoint-postgres') as {
    PostgresSaver: { fromConnString(address: string): { setup(): Promise<void>; end(): Promise<void> } }
  }
  const { HumanMessage } = load('@langchain/core/messages') as LoopMessages
  const checkpointer = PostgresSaver.fromConnString(address)
  await checkpointer.setup()
  let next = 0
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('add', () => ({ messages: [new HumanMessage({ id: `m${next}`, content: message(next++).content })] }))
    .addEdge(START, 'add')
    .addConditionalEdges('add', () => (next < count ? 'add' : END), ['add', END])
    .compile({ checkpointer })
  await graph.invoke({ messages: [] }, { ...thread, recursionLimit: count + 5, durability: 'sync' })
  await checkpointer.end()
}
