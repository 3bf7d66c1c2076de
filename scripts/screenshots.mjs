// Takes the pictures of docs/images from a real dashboard: `npm run screenshots`. A server runs the demo in a folder of its own, agents ask
// and tasks wait, and a browser looks at it at the width of a phone, a laptop and a large screen.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { chromium } from 'playwright-core'
import { root } from './stamps.mjs'

const images = join(root, 'docs/images')
const folder = mkdtempSync(join(tmpdir(), 'baton-pictures-'))
const home = join(folder, 'shop')
mkdirSync(home)
const env = { ...process.env, HOME: folder, BATON_HOME: join(home, '.baton'), BATON_TRUST: '1', NO_COLOR: '1' }
const server = spawn(process.execPath, [join(root, 'dist/cli/main.js'), 'up', '--demo', '--json', '--port', '0'], {
  cwd: home,
  env,
  stdio: ['ignore', 'pipe', 'inherit'],
})
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
try {
  const { url, token } = await address()
  await prepare(url, token)
  mkdirSync(images, { recursive: true })
  /** @type {[name: string, path: string, width: number, height: number, theme: 'dark' | 'light'][]} */
  const pictures = [
    ['overview', '/', 1280, 860, 'dark'],
    ['overview-wide', '/', 1920, 1080, 'light'],
    ['overview-phone', '/', 390, 844, 'dark'],
    ['inbox', '/inbox', 1280, 800, 'light'],
    ['supervisor', await sessionPath(url, token), 1280, 900, 'dark'],
    ['handoffs', '/handoffs', 1280, 860, 'light'],
    ['tasks', '/tasks/CHECKOUT', 1280, 860, 'dark'],
  ]
  for (const [name, path, width, height, theme] of pictures) {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, locale: 'en-GB' })
    const page = await context.newPage()
    const { code } = await post(url, token, '/sign-in-codes', {})
    await page.goto(`${url}${path}#code=${code}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.evaluate('document.fonts.ready')
    await page.waitForFunction('document.querySelectorAll("[role=status][aria-label=Loading]").length === 0')
    await page.screenshot({ path: join(images, `${name}.png`) })
    console.log(`docs/images/${name}.png`)
    await context.close()
  }
} finally {
  await browser.close()
  server.kill()
  await new Promise((resolve) => server.on('exit', resolve))
  rmSync(folder, { recursive: true, force: true })
}

/** @returns {Promise<{ url: string, token: string }>} */
async function address() {
  const lines = createInterface({ input: server.stdout })
  for await (const line of lines) {
    if (line.startsWith('{"url"')) return JSON.parse(line)
  }
  throw new Error('the server ended')
}

/** @param {string} url @param {string} token @param {string} path @param {object} body @returns {Promise<{ code: string }>} */
async function post(url, token, path, body) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(`${url}/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
  return /** @type {{ code: string }} */ (await answer.json())
}

/**
 * @param {string} url @param {string} token @param {string} path
 * @returns {Promise<{ sessions: { name: string, cycles: number }[] }>}
 */
async function get(url, token, path) {
  const answer = await fetch(`${url}/v1${path}`, { headers: { authorization: `Bearer ${token}` } })
  return /** @type {{ sessions: { name: string, cycles: number }[] }} */ (await answer.json())
}

/** Questions, a task, and a cycle of the demo that is over. @param {string} url @param {string} token */
async function prepare(url, token) {
  const licence = { key: 'licence', expectedType: 'string', description: 'Its short name' }
  const asked = { from: 'writer', to: 'human', priority: 'high', missing: [licence] }
  await post(url, token, '/relay/ask', { ...asked, summary: 'Which licence should the package have?' })
  await post(url, token, '/relay/ask', {
    from: 'writer',
    to: 'researcher',
    summary: 'Figures for the introduction',
    missing: ['figures'],
  })
  writeFileSync(join(home, 'plan.md'), '# Checkout\n')
  await post(url, token, '/tasks', { task: 'CHECKOUT', title: 'Pay without leaving the page' })
  await post(url, token, '/tasks/CHECKOUT/handoff', {
    handoff: {
      source_agent: 'planner',
      target_agent: 'coder',
      phase: 'planning',
      decisions: [
        {
          decision: 'Keep the cart on the server',
          rationale: 'Two tabs must see the same cart',
          alternatives: ['local storage'],
        },
        {
          decision: 'One page, three steps',
          rationale: 'The old flow lost a third of the buyers',
          alternatives: ['a wizard'],
        },
      ],
    },
  })
  for (;;) {
    const { sessions } = await get(url, token, '/supervised?all=true')
    if (sessions.some(({ cycles }) => cycles > 0)) return
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

/** @param {string} url @param {string} token */
async function sessionPath(url, token) {
  const { sessions } = await get(url, token, '/supervised?all=true')
  return `/supervisor/${encodeURIComponent(sessions[0]?.name ?? '')}`
}
