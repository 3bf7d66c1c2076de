import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerMcp, mcpTools } from '../../src/mcp/index.ts'
import type { Scope } from '../../src/operations/index.ts'
import { temporaryWorkspace } from '../operations/workspace.ts'

let opened: Awaited<ReturnType<typeof temporaryWorkspace>>
beforeAll(async () => {
  opened = await temporaryWorkspace()
})
afterAll(() => opened.close())

/** A request of the 2025 protocols, which need no handshake over HTTP. */
async function ask(method: string, params: object = {}, scope: Scope = 'write'): Promise<Record<string, unknown>> {
  const response = await answerMcp(
    opened.workspace,
    { name: 'test', scope },
    new Request('http://localhost/mcp', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    }),
  )
  const text = await response.text()
  const data = /^data: (.+)$/m.exec(text)?.[1] ?? text
  return (JSON.parse(data) as { result: Record<string, unknown> }).result
}

interface Called {
  readonly isError?: boolean
  readonly content: readonly { readonly text: string }[]
}

async function call(name: string, args: object, scope: Scope = 'write'): Promise<Called> {
  return (await ask('tools/call', { name, arguments: args }, scope)) as unknown as Called
}

describe('the MCP server', () => {
  it('offers at most twenty tools, with names for every model, and none that approves [D5, D10]', async () => {
    const { tools } = (await ask('tools/list')) as { tools: { name: string; description: string }[] }
    expect(tools.length).toBe(mcpTools.length)
    expect(tools.length).toBeLessThanOrEqual(20)
    for (const { name, description } of tools) {
      expect(name).toMatch(/^[a-z]+(_[a-z]+)+$/)
      expect(name).not.toMatch(/approve|reject|trust|token/)
      expect(description.length).toBeLessThan(500)
    }
  })

  it('writes, searches, hands over and lists documents as the operations do [D5]', async () => {
    const entries = [
      { kind: 'message', payload: { role: 'user', content: 'never touch core.ts' } },
      { kind: 'message', payload: { role: 'assistant', content: 'All right.' } },
    ]
    expect((await call('tape_append', { tape: 'main', entries })).isError).toBeUndefined()
    expect((await call('tape_search', { tape: 'main', text: 'core.ts' })).content[0]!.text).toContain('never touch')
    expect((await call('reference_show', { ref: 'main#1' })).content[0]!.text).toContain('never touch')
    expect((await call('document_write', { tape: 'main', goal: 'ship it' })).content[0]!.text).toContain('core.ts')
    expect((await call('document_list', {})).content[0]!.text).toContain('ship it')
    expect((await call('document_show', { tape: 'main' })).content[0]!.text).toContain('core.ts')
    expect(
      (await call('tape_handoff', { tape: 'main', name: 'phase/two', state: { summary: 'x' } })).isError,
    ).toBeUndefined()
    expect((await call('tape_context', { tape: 'main', format: 'text' })).content[0]!.text).toContain('summary')
  })

  it('refuses a field that a tool does not know, as REST does, and says which it knows, but none that Gemini CLI adds [D5]', async () => {
    const refused = await call('relay_ask', { from: 'generator', to: 'human', summary: 'Which logo?', traceId: 'x' })
    expect(refused).toMatchObject({ isError: true })
    expect(refused.content[0]!.text).toMatch(/has no field "traceId".*Known are .*\btrace\b/)
    expect((await call('waiting_list', { wait_for_previous: true })).content[0]!.text).toBe('{"items":[]}')
  })

  it('asks a person, shows that it waits, answers nothing in their name, and fetches the answer later [D5, D10]', async () => {
    const asked = await call('relay_ask', { from: 'generator', to: 'human', summary: 'Which logo?', missing: ['logo'] })
    const { requestId } = JSON.parse(asked.content[0]!.text) as { requestId: string }
    expect((await call('waiting_list', {})).content[0]!.text).toContain('Which logo?')
    const posed = { requestId, answer: { status: 'resolved', providedInputs: { logo: 'mine' } }, by: 'human' }
    const refused = await call('relay_answer', posed, 'admin')
    expect(refused).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('Only a person') }] })
    const relay = await opened.workspace.relay()
    const [question] = await relay.escalations.list()
    await relay.escalations.answer(question!.id, { logo: 'blue' }, { by: 'ana' })
    const shown = await call('relay_show', { requestId, wait: true })
    expect(shown.content[0]!.text).toContain('"logo":"blue"')
    expect((await call('waiting_list', {})).content[0]!.text).toBe('{"items":[]}')
  })

  it('hands a task from one agent to the next [D5]', async () => {
    const { workspace } = opened
    await (await workspace.tasks()).create({ task_id: 'LOGIN', task_title: 'Log in' })
    expect((await call('task_list', {})).content[0]!.text).toContain('LOGIN')
    const handoff = { source_agent: 'planner', target_agent: 'coder', phase: 'planning', context_summary: 'Planned.' }
    const handed = await call('task_handoff', { task: 'LOGIN', handoff })
    expect(handed.content[0]!.text).toContain('coder')
    expect((await call('task_receive', { task: 'LOGIN' })).isError).toBeUndefined()
    expect((await call('task_show', { task: 'LOGIN' })).content[0]!.text).toContain('Planned.')
  })

  it('keeps answers small, and says what to do about mistakes [D5]', async () => {
    const content = 'x'.repeat(30_000)
    await call('tape_append', { tape: 'long', entries: [{ kind: 'message', payload: { role: 'user', content } }] })
    const { content: read } = await call('tape_read', { tape: 'long' })
    expect(read[0]!.text.length).toBeLessThan(21_000)
    const wrong = await call('tape_read', { tape: 'mian' })
    expect(wrong).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('Did you mean main?') }] })
    expect((await call('tape_read', { tape: 'main', limit: null, after: null })).isError).toBeUndefined()
    expect((await call('tape_read', { tape: null })).content[0]!.text).toContain('tape is missing')
    const bad = await call('tape_read', { tape: 'main', limit: 'many' })
    expect(bad.isError).toBe(true)
    expect(bad.content[0]!.text).toMatch(
      /limit must be a number, not "many". Send limit as a whole number from 1 to 1,000\.$/,
    )
    expect(bad.content[0]!.text).toContain('limit')
  })

  it('gives a caller who may only read no tool that writes [D5]', async () => {
    const { tools } = (await ask('tools/list', {}, 'read')) as { tools: { name: string }[] }
    const names = tools.map(({ name }) => name)
    expect(names).toContain('tape_read')
    expect(names).not.toContain('tape_append')
    expect(names).not.toContain('document_write')
  })

  it('serves entries as resources, and both ends of a handoff as prompts [D5]', async () => {
    const { workspace } = opened.workspace.store
    await call('tape_append', {
      tape: 'notes',
      entries: [{ kind: 'message', payload: { role: 'user', content: 'hello' } }],
    })
    const uri = `tape://${workspace}/notes/entry/1`
    expect(JSON.stringify(await ask('resources/read', { uri }))).toContain('hello')
    const handoff = await ask('prompts/get', { name: 'handoff', arguments: { goal: 'ship' } })
    expect(JSON.stringify(handoff)).toContain('document_write')
    expect(JSON.stringify(await ask('prompts/get', { name: 'resume' }))).toMatch(/document_show|no handoff document/)
  })
})
