// What a browser is shown: the dashboard if it was built, else a plain page; and the description of the interface. The files
// hold nothing of the workspace, so they need no token; everything they show comes from /v1.

import fs from 'node:fs'
import path from 'node:path'
import type { Context, Hono } from 'hono'
import type { Variables } from '../app.ts'

/** No script, style or connection from anywhere but here, and no page of another site around ours. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.webmanifest': 'application/manifest+json',
  '.json': 'application/json',
}

export function addPages(app: Hono<Variables>, web: string | undefined): void {
  app.get('/docs', (c) => page(c, docsHtml))
  app.get('/docs/docs.js', (c) => script(c, docsScript))
  app.get('/docs/docs.css', (c) => c.body(docsStyle, 200, { 'content-type': types['.css']!, ...secured }))
  const files = web === undefined ? new Map<string, string>() : filesOf(web)
  app.get('/sign-in.js', (c) => script(c, signInScript))
  const index = files.get('/index.html')
  // A page app has addresses of its own; whatever is not ours is one of them.
  app.get('*', async (c, next) => {
    const file = files.get(c.req.path)
    if (file !== undefined) return send(c, file)
    if (c.req.path === '/') return index === undefined ? page(c, plainHtml) : send(c, index)
    const isPage = index !== undefined && !isOwn(c.req.path) && c.req.header('accept')?.includes('text/html') === true
    return isPage ? send(c, index) : next()
  })
}

function isOwn(route: string): boolean {
  return /^\/(v1|mcp|openapi\.json|metrics|healthz|docs)(\/|$)/.test(route)
}

const secured = { 'content-security-policy': policy, 'x-frame-options': 'DENY' }

function page(c: Context, html: string): Response {
  return c.body(html, 200, { 'content-type': types['.html']!, 'cache-control': 'no-store', ...secured })
}

function script(c: Context, text: string): Response {
  return c.body(text, 200, { 'content-type': types['.js']!, 'cache-control': 'no-store', ...secured })
}

/** Files with a hash in their name never change. */
function send(c: Context, file: string): Response {
  const cache = /-[\w-]{8,}\.\w+$/.test(file) ? 'public, max-age=31536000, immutable' : 'no-cache'
  const type = types[path.extname(file)] ?? 'application/octet-stream'
  return c.body(fs.readFileSync(file), 200, { 'content-type': type, 'cache-control': cache, ...secured })
}

/** Address: file. Only what is listed here is served, so no address leads out of the folder. */
function filesOf(web: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const entry of fs.readdirSync(web, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue
    const file = path.join(entry.parentPath, entry.name)
    found.set(`/${path.relative(web, file).split(path.sep).join('/')}`, file)
  }
  return found
}

/** Exchanges the code in the fragment for a cookie, and takes it out of the address. */
const signInScript = `
const code = new URLSearchParams(location.hash.slice(1)).get('code')
const say = (text) => { document.getElementById('state').textContent = text }
if (code === null) {
  const me = await fetch('/v1/me')
  say(me.ok ? 'You are signed in.' : 'Sign in with the address that "baton up" prints.')
} else {
  history.replaceState(null, '', location.pathname)
  const answer = await fetch('/v1/sign-in', {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ code }),
  })
  say(answer.ok ? 'You are signed in.' : (await answer.json()).detail)
}
`

const plainHtml = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Baton</title><link rel="stylesheet" href="/docs/docs.css"></head>
<body><main><h1>Baton</h1><p id="state">One moment…</p>
<p>This build has no dashboard. What programs can call: <a href="/docs">/docs</a>.</p></main>
<script type="module" src="/sign-in.js"></script></body></html>
`

const docsHtml = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Baton: operations</title><link rel="stylesheet" href="/docs/docs.css"></head>
<body><main><h1>Baton: operations</h1><p id="state">One moment…</p><div id="operations"></div></main>
<script type="module" src="/docs/docs.js"></script></body></html>
`

const docsStyle = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
main { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font: 0.85rem/1.4 ui-monospace, monospace }
pre { overflow: auto; padding: 0.5rem; background: color-mix(in srgb, currentColor 8%, transparent) }
summary { cursor: pointer; padding: 0.25rem 0 }
summary code { font-weight: 600 }
`

const docsScript = `
const state = document.getElementById('state')
const answer = await fetch('/openapi.json')
if (!answer.ok) state.textContent = 'Sign in first, with the address that "baton up" prints; or read /openapi.json with a token.'
else {
  const { info, paths } = await answer.json()
  state.textContent = info.title + ' ' + info.version + '. ' + info.description
  for (const [path, methods] of Object.entries(paths)) for (const [method, operation] of Object.entries(methods)) {
    const details = document.createElement('details')
    const summary = details.appendChild(document.createElement('summary'))
    summary.appendChild(document.createElement('code')).textContent = method.toUpperCase() + ' ' + path
    summary.append(' ' + operation.summary)
    const more = details.appendChild(document.createElement('p'))
    more.textContent = operation.description ?? ''
    const { parameters, requestBody, responses } = operation
    details.appendChild(document.createElement('pre')).textContent = JSON.stringify({ parameters, requestBody, responses }, null, 2)
    document.getElementById('operations').append(details)
  }
}
`
