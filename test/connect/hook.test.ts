import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  answerHook,
  HookState,
  pendingFor,
  preparePending,
  readInput,
  statusText,
  workOnJobs,
} from '../../src/connect/index.ts'
import { agentNamed } from '../../src/agents/index.ts'
import { baton, batonProcess, program } from '../cli/cli.ts'
import { temporaryFolder } from '../support/workspace.ts'

interface Room {
  readonly project: string
  readonly env: NodeJS.ProcessEnv
}

function room(): Room {
  const project = fs.realpathSync(temporaryFolder())
  fs.mkdirSync(path.join(project, '.git'))
  return { project, env: { HOME: project } }
}

function prepare({ project, env }: Room, text = '# Handoff\n\nGo on with the tests.\n'): string {
  const document = path.join(project, 'handoff.md')
  fs.writeFileSync(document, text)
  preparePending(env, { project, document, tape: 'main', entry: 1, date: '2026-11-17T10:00:00.000Z' })
  return document
}

function call(
  { project, env }: Room,
  agent: string,
  event: string,
  session: string,
  more: Record<string, string> = {},
) {
  const answer = answerHook(agent, event, { session, cwd: project, ...more }, env)
  answer.given?.()
  return answer
}

describe('a pending handoff', () => {
  it.each(['claude', 'codex'])('opens the next session of %s once, and no resumed one [D7]', (agent) => {
    const at = room()
    prepare(at)
    expect(call(at, agent, 'SessionStart', 'old', { source: 'resume' }).text).toBeUndefined()
    expect(call(at, agent, 'SessionStart', 'a', { source: 'startup' }).text).toContain('Go on with the tests.')
    expect(call(at, agent, 'SessionStart', 'a', { source: 'resume' }).text).toBeUndefined()
    expect(call(at, agent, 'SessionStart', 'a', { source: 'startup' }).text).toBeUndefined()
    expect(call(at, agent, 'SessionStart', 'b', { source: 'clear' }).text).toBeUndefined()
    expect(pendingFor(at.env, at.project)).toBeUndefined()
  })

  it.each([
    ['gemini', 'SessionStart', 'BeforeAgent', 'clear'],
    ['opencode', 'start', 'prompt', 'new'],
    ['pi', 'start', 'prompt', 'new'],
  ])('comes with the first prompt of a new session of %s [D7]', (agent, start, prompt, source) => {
    const at = room()
    prepare(at)
    expect(call(at, agent, prompt, 'old').text).toBeUndefined()
    expect(call(at, agent, start, 'a', { source }).text).toBeUndefined()
    expect(call(at, agent, prompt, 'a').text).toContain('Go on with the tests.')
    expect(call(at, agent, prompt, 'a').text).toBeUndefined()
  })

  it('is given to one of many sessions that start at once [D7]', async () => {
    const at = room()
    prepare(at)
    const runs = await Promise.all(
      ['a', 'b', 'c', 'd'].map((session_id) =>
        batonProcess(
          at.project,
          ['hook', 'claude', 'SessionStart'],
          JSON.stringify({ session_id, cwd: at.project, source: 'startup' }),
        ),
      ),
    )
    expect(runs.filter(({ out }) => out !== '')).toHaveLength(1)
    expect(runs.every(({ code, err }) => code === 0 && err === '')).toBe(true)
  })

  it('is given to the next session where a hook ends before its agent has the answer [D7]', async () => {
    const at = room()
    prepare(at)
    const started = (session_id: string) => JSON.stringify({ session_id, cwd: at.project, source: 'startup' })
    const unheard = spawn(process.execPath, [program, 'hook', 'claude', 'SessionStart'], { env: at.env })
    unheard.stdout.destroy()
    unheard.stdin.end(started('a'))
    await once(unheard, 'close')
    expect((await batonProcess(at.project, ['hook', 'claude', 'SessionStart'], started('b'))).out).toContain('Go on')
    expect((await batonProcess(at.project, ['hook', 'claude', 'SessionStart'], started('c'))).out).toBe('')
  })

  it('is not lost where it is prepared while another is being given [D7]', () => {
    const at = room()
    prepare(at, 'the first')
    const answer = answerHook('claude', 'SessionStart', { session: 'a', cwd: at.project, source: 'startup' }, at.env)
    const document = path.join(at.project, 'second.md')
    fs.writeFileSync(document, 'the second')
    preparePending(at.env, { project: at.project, document, tape: 'main', entry: 2, date: '2026-11-17T11:00:00.000Z' })
    expect(call(at, 'claude', 'SessionStart', 'b', { source: 'startup' }).text).toBeUndefined()
    answer.given!()
    expect(answer.text).toContain('the first')
    expect(call(at, 'claude', 'SessionStart', 'c', { source: 'startup' }).text).toContain('the second')
    expect(call(at, 'claude', 'SessionStart', 'd', { source: 'startup' }).text).toBeUndefined()
  })

  it('is found from a folder below, and belongs to its project alone [D7]', () => {
    const at = room()
    prepare(at)
    const below = path.join(at.project, 'src')
    fs.mkdirSync(below)
    const elsewhere = { ...room(), env: at.env }
    expect(call(elsewhere, 'claude', 'SessionStart', 'x', { source: 'startup' }).text).toBeUndefined()
    expect(call({ ...at, project: below }, 'claude', 'SessionStart', 'a', { source: 'startup' }).text).toContain(
      'Go on',
    )
  })

  it('is a pointer to its file where it is longer than the agent gives its model whole [D7]', () => {
    const at = room()
    const document = prepare(at, 'x'.repeat(9_600))
    const { text } = call(at, 'claude', 'SessionStart', 'a', { source: 'startup' })
    expect(text).toContain(document)
    expect(text!.length).toBeLessThan(1_000)
    prepare(at, 'x'.repeat(9_600))
    call(at, 'gemini', 'SessionStart', 'b', { source: 'startup' })
    expect(call(at, 'gemini', 'BeforeAgent', 'b').text).toContain('x'.repeat(9_600))
  })

  it('stays for later where the supervisor runs the agent [D7]', () => {
    const at = room()
    prepare(at)
    const supervised = { ...at, env: { ...at.env, BATON_AGENT: 'claude' } }
    expect(call(supervised, 'claude', 'SessionStart', 'a', { source: 'startup' }).text).toBeUndefined()
    expect(pendingFor(at.env, at.project)).toBeDefined()
  })
})

/** A session of Claude Code with that many turns, and the line that its compaction writes behind them. */
function transcript({ project, env }: Room, session: string, words: readonly string[]): string {
  const folder = path.join(env.HOME!, '.claude/projects', project.replaceAll(/[^A-Za-z0-9-]/g, '-'))
  fs.mkdirSync(folder, { recursive: true })
  const file = path.join(folder, `${session}.jsonl`)
  const lines = words.flatMap((text, i) => {
    const base = { sessionId: session, cwd: project, timestamp: `2026-11-17T10:0${i}:00.000Z`, version: '2.1.325' }
    return [
      { ...base, type: 'user', uuid: `u${i}`, message: { role: 'user', content: text } },
      {
        ...base,
        type: 'assistant',
        uuid: `a${i}`,
        parentUuid: `u${i}`,
        message: {
          id: `m${i}`,
          role: 'assistant',
          model: 'claude-sonnet-4-5',
          content: [{ type: 'text', text: `Done: ${text}` }],
          stop_reason: 'end_turn',
          usage: { input_tokens: 20_000, output_tokens: 10 },
        },
      },
    ]
  })
  fs.appendFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return file
}

const session = '0d5fd29e-6b0a-4b52-8d10-6a5a1c0a7f01'

describe("Baton's plugin for opencode", () => {
  it('asks for what waits after the start of the session was heard, however long that takes [D7]', async () => {
    const folder = fs.realpathSync(temporaryFolder())
    const script = path.join(folder, 'slow-start.mjs')
    fs.writeFileSync(
      script,
      `import fs from 'node:fs'
const event = process.argv.at(-1)
const log = ${JSON.stringify(path.join(folder, 'log'))}
setTimeout(() => {
  fs.appendFileSync(log, event + ' ')
  const additionalContext = fs.readFileSync(log, 'utf8')
  if (event === 'prompt') console.log(JSON.stringify({ hookSpecificOutput: { additionalContext } }))
}, event === 'start' ? 500 : 0)
`,
    )
    const place = {
      scope: 'user' as const,
      project: folder,
      env: { HOME: folder },
      self: [process.execPath, script] as const,
    }
    const plugin = agentNamed('opencode')
      .connection!.changes(place)
      .find((change) => change.type === 'file' && change.path.endsWith('baton.js'))
    const file = path.join(folder, 'plugin.mjs')
    fs.writeFileSync(file, (plugin as { content: string }).content)
    const { Baton } = (await import(/* @vite-ignore */ file)) as { Baton: (at: object) => Promise<Plugin> }
    const hooks = await Baton({ directory: folder })
    // opencode does not wait for what it calls with an event.
    void hooks.event({ event: { type: 'session.created', properties: { info: { id: 'a' } } } })
    const parts: { text: string }[] = []
    await hooks['chat.message']({ sessionID: 'a' }, { message: { sessionID: 'a', id: 'm' }, parts })
    expect(parts.map(({ text }) => text)).toEqual(['start prompt '])
  })
})

interface Plugin {
  event(told: object): Promise<void>
  'chat.message'(input: object, output: object): Promise<void>
}

describe('a compaction', () => {
  it('is followed by a document of what stood before it, and the agent is told where to look, once [D7]', async () => {
    const at = room()
    const file = transcript(at, session, ['never touch core.ts'])
    expect(call(at, 'claude', 'PreCompact', session, { transcript: file, trigger: 'manual' })).toEqual({
      hasWork: true,
    })
    transcript(at, session, ['said behind the compaction'])
    const { text } = call(at, 'claude', 'SessionStart', session, { source: 'compact' })
    const document = /\S+before-compaction-\S+\.md/.exec(text ?? '')?.[0]
    expect(document).toBeDefined()
    expect(call(at, 'claude', 'SessionStart', session, { source: 'compact' }).text).toBeUndefined()
    await workOnJobs(at.env)
    const written = fs.readFileSync(document!, 'utf8')
    expect(written).toContain('never touch core.ts')
    expect(written).not.toContain('behind the compaction')
  })

  it('of Gemini CLI is believed only where the context is nearly full [D7]', async () => {
    const at = room()
    expect(call(at, 'gemini', 'PreCompress', 'g', { trigger: 'auto' }).hasWork).toBe(true)
    expect(call(at, 'gemini', 'BeforeAgent', 'g').text).toBeUndefined()
    expect(call(at, 'gemini', 'PreCompress', 'g', { trigger: 'manual' }).hasWork).toBe(true)
    expect(call(at, 'gemini', 'BeforeAgent', 'g').text).toContain('compacted')
  })
})

describe('the end of a turn', () => {
  it('brings tape and meters up to date, and a clear is documented [D7]', async () => {
    const at = room()
    const file = transcript(at, session, ['write the notes'])
    call(at, 'claude', 'Stop', session, { transcript: file })
    call(at, 'claude', 'Stop', session, { transcript: file })
    await workOnJobs(at.env)
    expect(new HookState(at.env).gauge('claude', session)).toMatchObject({ percent: 10, waiting: 0 })
    const { out } = await baton(at.project, ['tape', 'ls', '--json'])
    expect(out).toContain(`claude:${session}`)
    call(at, 'claude', 'SessionEnd', session, { transcript: file, reason: 'clear' })
    await workOnJobs(at.env)
    expect(fs.readdirSync(path.join(at.project, '.handoffs', encodeURIComponent(`claude:${session}`)))).toEqual([
      expect.stringContaining('before-clear-'),
    ])
    expect(new HookState(at.env).jobs()).toEqual([])
  })

  it('of a session that cannot be read is told in the log, and the next job is done [D7]', async () => {
    const at = room()
    call(at, 'opencode', 'turn', 'ses_unknown')
    call(at, 'claude', 'Stop', session, { transcript: transcript(at, session, ['write the notes']) })
    await workOnJobs(at.env)
    const state = new HookState(at.env)
    expect(fs.readFileSync(state.logFile, 'utf8')).toContain('There is no session "opencode:ses_unknown"')
    expect(state.gauge('claude', session)).toBeDefined()
    const { out } = await baton(at.project, ['doctor'])
    expect(out).toContain('hooks had trouble once')
  })
})

describe('a hook', () => {
  it.each([
    ['nothing on standard input', ''],
    ['no JSON', '{"session_id'],
    ['a list', '[1]'],
    ['fields of other types', '{"session_id": 7, "cwd": []}'],
    ['an id that leaves the folder', '{"session_id": "../../../x", "source": "startup"}'],
    ['a folder that is not there', '{"session_id": "a", "cwd": "/not/there", "source": "startup"}'],
  ])('given %s says nothing and ends with 0 [D7]', async (_what, input) => {
    const { project } = room()
    for (const event of ['SessionStart', 'Stop', 'Unknown']) {
      expect(await baton(project, ['hook', 'claude', event], input)).toMatchObject({ code: 0, out: '' })
    }
    expect(fs.existsSync(path.join(project, '..', 'x'))).toBe(false)
  })

  it('of which the document is gone says nothing to the agent, and tells the log [D7]', async () => {
    const at = room()
    fs.rmSync(prepare(at))
    const input = JSON.stringify({ session_id: 'a', cwd: at.project, source: 'startup' })
    expect(await baton(at.project, ['hook', 'claude', 'SessionStart'], input)).toMatchObject({
      code: 0,
      out: '',
      err: '',
    })
    expect(fs.readFileSync(new HookState(at.env).logFile, 'utf8')).toContain('handoff.md')
  })

  it('takes the fields that the agents share [D7]', () => {
    expect(readInput('{"session_id":"a","transcript_path":"/t","trigger":"auto","cwd":"/c","else":1}', '/x')).toEqual({
      session: 'a',
      transcript: '/t',
      trigger: 'auto',
      cwd: '/c',
    })
  })
})

describe('the status line', () => {
  it('shows context, quotas and what waits, and leaves out what is unknown [D7]', () => {
    const gauge = { percent: 12, waiting: 1, at: 0, quotas: [{ name: 'primary', usedPercent: 61.4 }] }
    expect(statusText({ context_window: { used_percentage: 43.2 } }, gauge)).toBe(
      'ctx 43 % · 5h 61 % · 1 waits for you',
    )
    expect(statusText({}, { ...gauge, waiting: 2, quotas: [] })).toBe('ctx 12 % · 2 wait for you')
    expect(statusText({ rate_limits: { five_hour: { used_percentage: 7 } } }, undefined)).toBe('5h 7 %')
    expect(statusText({}, undefined)).toBe('')
  })

  it("stands behind the person's own, which is called as before [D7]", async () => {
    const { project } = room()
    const file = path.join(project, '.claude/settings.json')
    fs.mkdirSync(path.dirname(file))
    fs.writeFileSync(
      file,
      JSON.stringify({ statusLine: { type: 'command', command: 'read -r all; echo "own ${#all}"' } }),
    )
    await baton(project, ['connect', 'claude'])
    const input = JSON.stringify({ session_id: 's', context_window: { used_percentage: 5 } })
    expect((await baton(project, ['hook', 'claude', 'statusline'], `${input}\n`)).out).toBe(
      `own ${input.length} · ctx 5 %\n`,
    )
  })
})
