// An agent for tests: a process that takes prompts from a file and writes a transcript as pi does. What it does with a
// prompt is in a script that a test can change at any time. It notes all that reaches it: nothing may reach it twice.

import { randomBytes, randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { defaultScript, type Heard, type Order, piUsage, type Script, protocolFiles } from './protocol.ts'

const [home = '', cwd = '', session] = process.argv.slice(2)
const files = protocolFiles(home)

const script = (): Script => ({ ...defaultScript, ...(JSON.parse(fs.readFileSync(files.script, 'utf8')) as Script) })
const note = (heard: Heard) => fs.appendFileSync(files.heard, `${JSON.stringify(heard)}\n`)

let transcript: { id: string; fd: number; parent: string | null } | undefined
let tokens = 0
let turn: AbortController | undefined

function open(id: string, file: string): void {
  transcript = { id, fd: fs.openSync(file, 'a+'), parent: null }
}

function folder(): string {
  return path.join(home, 'sessions', `--${cwd.replaceAll(/^\/|\/$/g, '').replaceAll('/', '-')}--`)
}

function begin(): void {
  const id = randomUUID()
  const timestamp = new Date().toISOString()
  fs.mkdirSync(folder(), { recursive: true })
  open(id, path.join(folder(), `${timestamp.replaceAll(/[:.]/g, '-')}_${id}.jsonl`))
  line({ type: 'session', version: 3, id, timestamp, cwd })
  entry({ type: 'model_change', provider: 'scripted', modelId: 'scripted' })
  tokens = script().base
}

function line(value: object): void {
  fs.writeSync(transcript!.fd, `${JSON.stringify(value)}\n`)
}

function entry(value: object): void {
  const id = randomBytes(4).toString('hex')
  line({ ...value, id, parentId: transcript!.parent, timestamp: new Date().toISOString() })
  transcript!.parent = id
}

function message(body: object): void {
  entry({ type: 'message', message: { ...body, timestamp: Date.now() } })
}

function says(text: string, stopReason: string, calls: object[] = []): void {
  const { window, usd } = script()
  const usage = piUsage(tokens, usd)
  const content = [{ type: 'text', text }, ...calls]
  const error = stopReason === 'error' ? { errorMessage: text } : {}
  message({ role: 'assistant', content, provider: 'scripted', model: 'scripted', usage, stopReason, window, ...error })
}

/** A call of a tool, and its result. */
function uses(name: string, args: Record<string, string>, act: () => string): void {
  const id = calls(name, args)
  answers(id, name, act())
}

function calls(name: string, args: Record<string, string>): string {
  const id = randomBytes(6).toString('hex')
  says(`I use ${name}.`, 'toolUse', [{ type: 'toolCall', id, name, arguments: args }])
  return id
}

function answers(id: string, name: string, text: string): void {
  message({ role: 'toolResult', toolCallId: id, toolName: name, content: [{ type: 'text', text }], isError: false })
}

async function takes(text: string): Promise<void> {
  const { pace, growth, mute } = script()
  const { signal } = (turn = new AbortController())
  if (transcript === undefined) begin()
  note({ prompt: text, session: transcript!.id })
  message({ role: 'user', content: [{ type: 'text', text }] })
  show()
  await sleep(pace, undefined, { signal }).catch(() => undefined)
  if (mute !== undefined && new RegExp(mute).test(text)) {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  }
  if (signal.aborted) says('Operation aborted', 'aborted')
  else {
    if (text.startsWith('Create handoff')) writesDocument(text)
    else if (text.startsWith('Read handoff')) reads(text)
    else await works(text, signal)
    tokens += growth
    const { reply, ending } = script()
    if (ending !== undefined) await sleep(ending)
    says(text.startsWith('Create handoff') ? (reply ?? 'The document is written.') : 'Done for now.', 'stop')
  }
  const { drawing } = script()
  if (drawing !== undefined) await sleep(drawing)
  turn = undefined
  show()
}

async function works(text: string, signal: AbortSignal): Promise<void> {
  const filled = /to (\d+)%/.exec(text)
  if (filled !== null) tokens = (Number(filled[1]) / 100) * script().window
  if (script().idle === true) return
  const file = path.join(cwd, `work-${Date.now()}.txt`)
  uses('write', { path: file, content: 'done' }, () => {
    fs.writeFileSync(file, 'done')
    return 'written'
  })
  const id = calls('bash', { command: 'true' })
  const { command = 0 } = script()
  const cut = await sleep(command, false, { signal }).catch(() => true)
  answers(id, 'bash', cut ? 'cut off' : 'printed at its end')
}

function writesDocument(text: string): void {
  const { document, documents = [] } = script()
  const file = /Write it to (.+?) in Markdown/.exec(text)![1]!
  const project = /"Project: (.+?)"/.exec(text)![1]!
  const asked =
    (fs.existsSync(files.heard) ? fs.readFileSync(files.heard, 'utf8') : '').split('Create handoff').length - 2
  const content = (asked in documents ? documents[asked] : document)?.replaceAll('{project}', project)
  if (content === undefined) return
  uses('write', { path: file, content }, () => {
    const half = Math.ceil(content.length / 2)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, content.slice(0, half))
    fs.appendFileSync(file, content.slice(half))
    const { age } = script()
    if (age !== undefined) fs.utimesSync(file, new Date(Date.now() - age), new Date(Date.now() - age))
    return 'written'
  })
}

function reads(text: string): void {
  const file = /Read handoff from (.+?) and resume work/.exec(text)![1]!
  if (script().illiterate === true) return
  uses('read', { path: file }, () => fs.readFileSync(file, 'utf8'))
}

function show(): void {
  const { dialog = null, draft = '' } = script()
  const screen =
    dialog !== null
      ? { is: 'dialog', question: dialog, about: 'permission' }
      : turn === undefined
        ? { is: 'prompt', draft }
        : { is: 'busy', draft }
  fs.writeFileSync(`${files.screen}.next`, JSON.stringify(screen))
  fs.renameSync(`${files.screen}.next`, files.screen)
}

function obey(order: Order): void {
  if (order.do === 'prompt') void takes(order.text)
  else if (order.do === 'interrupt') {
    note({ interrupted: true })
    turn?.abort()
  } else if (order.do === 'exit') process.exit(0)
  else {
    const ignored = script().ignoreClears > cleared++
    note({ cleared: !ignored, session: transcript?.id ?? '' })
    if (ignored || transcript === undefined) return
    fs.closeSync(transcript.fd)
    transcript = undefined
  }
}

let cleared = 0
if (session !== undefined) {
  const name = fs.readdirSync(folder()).find((each) => each.endsWith(`_${session}.jsonl`))!
  open(session, path.join(folder(), name))
  const lines = fs.readFileSync(path.join(folder(), name), 'utf8').trim().split('\n')
  const last = lines.map((each) => JSON.parse(each) as { id: string; message?: { usage?: { input: number } } })
  transcript!.parent = last.at(-1)!.id
  tokens = last.findLast((each) => each.message?.usage !== undefined)?.message?.usage?.input ?? script().base
}
let at = fs.existsSync(files.inbox) ? fs.statSync(files.inbox).size : 0
fs.appendFileSync(files.inbox, '')
show()
let scripted = ''
setInterval(() => {
  const now = fs.readFileSync(files.script, 'utf8')
  if (now !== scripted) show()
  scripted = now
  const { size } = fs.statSync(files.inbox)
  if (size <= at) return
  const fd = fs.openSync(files.inbox, 'r')
  const bytes = Buffer.alloc(size - at)
  fs.readSync(fd, bytes, 0, bytes.length, at)
  fs.closeSync(fd)
  at = size
  for (const each of bytes.toString().trim().split('\n')) obey(JSON.parse(each) as Order)
}, 10)
process.on('exit', (code) => fs.writeFileSync(files.exit, String(code)))
