// The dashboard as a person has it: a server of its own process, a browser, and a page that is signed in. Whatever the page
// reports as an error, and every request to another place, fails the test.

import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { AxeBuilder } from '@axe-core/playwright'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { type Client, createClient } from '../../src/client/index.ts'
import { program } from '../cli/cli.ts'
import { temporaryFolder } from '../support/workspace.ts'

export interface Server {
  readonly url: string
  readonly token: string
  readonly folder: string
  readonly client: Client
  readonly child: ChildProcess
  /** The address that signs a browser in. */
  readonly signInAddress: (path?: string) => Promise<string>
  readonly kill: () => Promise<void>
}

/** The environment of a person whose home is the folder. */
function environmentOf(folder: string): NodeJS.ProcessEnv {
  return { ...process.env, HOME: folder, BATON_HOME: path.join(folder, '.baton'), BATON_TRUST: '1', NO_COLOR: '1' }
}

interface ServerOptions {
  readonly port?: number
  readonly args?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
}

/** `baton up` in a folder; the same port again after a kill. Ends with the test. */
export async function startServer(
  folder = temporaryFolder(),
  { port = 0, args = ['--no-supervisor'], env = {} }: ServerOptions = {},
): Promise<Server> {
  const child = spawn(process.execPath, [program, 'up', '--json', '--port', String(port), ...args], {
    cwd: folder,
    env: { ...environmentOf(folder), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const closed = new Promise<void>((resolve) => child.on('close', () => resolve()))
  const kill = async () => {
    child.kill('SIGKILL')
    await closed
  }
  onTestFinished(kill)
  let [out, err] = ['', '']
  const line = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
      if (out.includes('\n')) resolve(out)
    })
    child.on('exit', (code) => reject(new Error(`baton up ended with ${code}: ${err}`)))
  })
  const { url, token } = JSON.parse(line) as { url: string; token: string }
  const signInAddress = async (to = '/') => {
    const answer = await fetch(`${url}/v1/sign-in-codes`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    })
    return `${url}${to}#code=${((await answer.json()) as { code: string }).code}`
  }
  return { url, token, folder, child, kill, signInAddress, client: createClient({ url, token }) }
}

let browser: Browser | undefined

/** One browser for the tests of a file: call it at the top of the file. */
export function useBrowser(): void {
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: process.env['BATON_TEST_CHROMIUM'] ?? '/usr/bin/chromium',
      args: [
        '--no-sandbox',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--no-first-run',
        '--no-default-browser-check',
      ],
    })
  })
  afterAll(() => browser?.close())
}

interface PageOptions {
  readonly width?: number
  readonly height?: number
  readonly theme?: 'light' | 'dark'
  /** Errors that the test makes on purpose, such as those of a server that is away. */
  readonly expected?: RegExp
}

/** A page of a browser that nobody used before, signed in, at an address of the dashboard. */
export async function openPage(
  server: Server,
  to = '/',
  { width = 1280, height = 800, theme = 'light', expected }: PageOptions = {},
): Promise<Page> {
  const context = await browser!.newContext({ viewport: { width, height }, colorScheme: theme, locale: 'en-GB' })
  const page = await context.newPage()
  const problems: string[] = []
  const note = (text: string) => {
    if (expected?.test(text) !== true) problems.push(text)
  }
  page.on('pageerror', (error) => note(`error: ${error.message}`))
  // What the policy of the page forbids is told here too.
  page.on('console', (message) => {
    if (message.type() === 'error') note(`console: ${message.text()} (${message.location().url})`)
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(server.url) && !request.url().startsWith('data:')) note(`request: ${request.url()}`)
  })
  page.on('dialog', (dialog) => {
    note(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  onTestFinished(async () => {
    await context.close()
    expect(problems).toEqual([])
  })
  await page.goto(await server.signInAddress(to))
  await page.getByRole('navigation').first().waitFor()
  return page
}

/** What axe calls serious or critical on what the page shows now. */
export async function violationsOn(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze()
  const bad = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  return bad.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

export async function expectAccessible(page: Page): Promise<void> {
  expect(await violationsOn(page)).toEqual([])
}

/** Writes the transcript of a session of Claude Code, as that agent does. */
export function writeSession(home: string, name: string, turns: number, text = `Job of ${name}`): string {
  const id = createHash('sha256')
    .update(name)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, '$1-$2-$3-$4-$5')
  const folder = path.join(home, '.claude/projects', encodeURIComponent(name).slice(0, 80))
  fs.mkdirSync(folder, { recursive: true })
  const common = { sessionId: id, cwd: `/srv/${name}`, gitBranch: 'main', timestamp: new Date().toISOString() }
  const lines = Array.from({ length: turns }, (_, n) => [
    { ...common, type: 'user', uuid: `${n}u`, message: { role: 'user', content: n === 0 ? text : 'go on' } },
    {
      ...common,
      type: 'assistant',
      uuid: `${n}a`,
      message: {
        id: `msg_${n}`,
        model: 'claude-sonnet-4-5',
        role: 'assistant',
        stop_reason: 'end_turn',
        content: [{ type: 'text', text: `Done with part ${n}` }],
        usage: { input_tokens: 10, cache_read_input_tokens: 20_000 * (n + 1), output_tokens: 50 },
      },
    },
  ]).flat()
  fs.writeFileSync(path.join(folder, `${id}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return id
}

export const message = (content: string, role = 'user') => ({ kind: 'message', payload: { role, content } })
