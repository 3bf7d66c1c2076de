// Takes the pictures of docs/images from a real dashboard: `npm run screenshots`. A server with a day of made-up work runs the demo in a
// folder of its own, and a browser looks at it. `npm run screenshots -- FOLDER` writes every page there, in both themes and at the width
// of a phone, a laptop and a large screen, for somebody who looks through them.
import { spawn } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { chromium } from 'playwright-core'
import { makeSessions, makeTeam } from './sample-day.mjs'
import { sampleId } from './sample-session.mjs'
import { root } from './stamps.mjs'

/** @typedef {[name: string, path: string, width: number, height: number, theme: 'dark' | 'light']} Picture */

const [everything] = process.argv.slice(2)
// By a path that is computed, because the checks read this file where nothing is built yet.
/** @type {typeof import('../src/exports/client.ts')} */
const { createClient } = await import(join(root, 'dist/exports/client.js'))
// A name that may be seen; where somebody else takes pictures right now, this fails.
const folder = '/tmp/home'
mkdirSync(folder)
const home = join(folder, 'me')
mkdirSync(home)
const project = makeSessions(home)
const env = { ...process.env, HOME: home, BATON_HOME: join(project, '.baton'), BATON_TRUST: '1', NO_COLOR: '1' }
const server = spawn(process.execPath, [join(root, 'dist/cli/main.js'), 'up', '--json', '--port', '0'], {
  cwd: project,
  env,
  stdio: ['ignore', 'pipe', 'inherit'],
})
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
try {
  const { url, token } = await address()
  const client = createClient({ url, token })
  await client.demoStart({})
  await makeTeam(client, project)
  const session = await supervised(client)
  const { documents } = await client.documentList({ limit: 50 })
  const document = documents.find(({ tape }) => tape === 'refunds')
  const paths = {
    overview: '/',
    inbox: '/inbox',
    handoffs: '/handoffs',
    handoff: `/handoffs/refunds/${document?.id}`,
    tapes: '/tapes',
    tape: '/tapes/refunds',
    session: `/sessions/claude/${sampleId}`,
    supervisor: '/supervisor?all=1',
    supervised: `/supervisor/${encodeURIComponent(session)}`,
    tasks: '/tasks',
    task: '/tasks/CHECKOUT',
    relay: '/relay',
    lineage: '/lineage',
    settings: '/settings',
    doctor: '/doctor',
  }
  /** @type {Picture[]} */
  const forReadme = [
    ['overview', paths.overview, 1280, 860, 'dark'],
    ['overview-wide', paths.overview, 1920, 1080, 'light'],
    ['overview-phone', paths.overview, 390, 844, 'dark'],
    ['inbox', paths.inbox, 1280, 800, 'light'],
    ['supervisor', paths.supervised, 1280, 900, 'dark'],
    ['handoffs', paths.handoff, 1280, 860, 'light'],
    ['tasks', paths.task, 1280, 860, 'dark'],
  ]
  /** @type {Picture[]} */
  const ofEverything = Object.entries(paths).flatMap(([name, path]) =>
    [390, 1280, 1920].flatMap((width) =>
      /** @type {const} */ (['dark', 'light']).map(
        (theme) => /** @type {Picture} */ ([`${name}-${width}-${theme}`, path, width, 900, theme]),
      ),
    ),
  )
  const images = everything ?? join(root, 'docs/images')
  mkdirSync(images, { recursive: true })
  for (const picture of everything === undefined ? forReadme : ofEverything) {
    await take(url, token, join(images, `${picture[0]}.png`), picture)
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

/** @param {string} url @param {string} token */
async function signInCode(url, token) {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${url}/v1/sign-in-codes`, { method: 'POST', headers })
  return /** @type {{ code: string }} */ (await answer.json()).code
}

/** @param {string} url @param {string} token @param {string} file @param {Picture} picture */
async function take(url, token, file, [, path, width, height, theme]) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, locale: 'en-GB' })
  const page = await context.newPage()
  await page.goto(`${url}${path}#code=${await signInCode(url, token)}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.evaluate('document.fonts.ready')
  await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' })
  await page.screenshot({ path: file })
  console.log(file)
  await context.close()
}

/** The session of the demo, once its context was handed over. @param {import('../src/exports/client.ts').Client} client */
async function supervised(client) {
  for (;;) {
    const { sessions } = await client.supervisedList({ all: true })
    const found = sessions.find(({ cycles }) => cycles > 0)
    if (found !== undefined) return found.name
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}
