// Questions to people over HTTP: who may answer them, and where.
import { expect, test } from 'vitest'
import { request as requestBody } from '../relay/team.ts'
import { problemIn, servedWorkspace } from './served.ts'

async function served() {
  const opened = await servedWorkspace()
  const [writer, agent, person] = await Promise.all([
    opened.token('write'),
    opened.token('operate', 'agent'),
    opened.token('operate'),
  ])
  const post = (token: string, path: string, body: object) => opened.ask(`POST /v1${path}`, { token, body })
  const open = async () => {
    const answer = await opened.ask('GET /v1/escalations')
    return ((await answer.json()) as { escalations: { id: string; requestId: string }[] }).escalations
  }
  return { ...opened, writer, agent, person, post, open }
}

const inputs = { marketSize: 42 }
const resolved = { status: 'resolved', providedInputs: inputs }

test('over HTTP only a person answers a question to people, whatever it is about and wherever it is answered [P6, D10]', async () => {
  const { writer, agent, person, post, open, close } = await served()
  for (const reason of ['missing_required_input', 'requires_human_decision'] as const) {
    const asked = { ...requestBody(), handoffTo: 'human', reason }
    await post(writer, '/relay/requests', { request: asked, requestId: reason, wait: false })
    const [{ id } = { id: '' }] = await open()
    for (const [token, code] of [
      [writer, 'forbidden'],
      [agent, 'refused'],
    ] as const) {
      const answer = await post(token, `/escalations/${id}/answer`, { inputs, by: 'anna' })
      expect([answer.status, (await problemIn(answer)).code]).toEqual([403, code])
    }
    for (const token of [writer, agent]) {
      const answer = await post(token, `/relay/requests/${reason}/answer`, { answer: resolved })
      expect([answer.status, (await problemIn(answer)).code]).toEqual([403, 'refused'])
    }
    expect((await post(person, `/escalations/${id}/answer`, { inputs })).status).toBe(200)
    expect(await open()).toEqual([])
  }
  await close()
})

test('the question of a task is not closed by an answer that decides nothing [P6, S7]', async () => {
  const { writer, agent, person, post, open, ask, close } = await served()
  await post(writer, '/tasks', { task: 'T1', title: 'Migrate' })
  const issue = { issue: 'Drop the users table?', severity: 'high', suggested_action: '', requires_human: true }
  const body = { source_agent: 'generator', target_agent: 'researcher', phase: 'implementing' }
  await post(writer, '/tasks/T1/handoff', { handoff: { ...body, blocking_issues: [issue] } })
  const [asked] = await open()
  const at = `/relay/requests/${encodeURIComponent(asked!.requestId)}`
  for (const token of [writer, agent, person]) {
    const answer = { status: 'resolved', providedInputs: { approved: true } }
    const given = await post(token, `${at}/answer`, { answer })
    expect([given.status, (await problemIn(given)).code]).toEqual([403, 'refused'])
    expect((await post(token, `${at}/cancel`, {})).status).toBe(403)
    const handoff = { handoff: body, force: 'it is late' }
    expect((await post(token, '/tasks/T1/handoff', handoff)).status).toBe(403)
  }
  expect(await open()).toMatchObject([{ id: asked!.id }])
  expect(
    (await post(person, `/escalations/${asked!.id}/answer`, { inputs: { approved: true }, by: 'anna' })).status,
  ).toBe(200)
  expect(await open()).toEqual([])
  expect((await post(writer, '/tasks/T1/handoff', { handoff: { ...body, blocking_issues: [issue] } })).status).toBe(200)
  const history = (await (await ask('GET /v1/tasks/T1/history')).json()) as { versions: unknown[] }
  expect(history.versions).toMatchObject([{ version: 1, approvals: [{ by: 'anna' }] }, { version: 2 }])
  await close()
})

test('nobody reports progress on a request that has ended, or that waits for a person [P8]', async () => {
  const { writer, person, post, open, close } = await served()
  await post(writer, '/relay/requests', {
    request: { ...requestBody(), handoffTo: 'human' },
    requestId: 'r',
    wait: false,
  })
  const report = async () => (await post(writer, '/relay/requests/r/progress', { text: 'Nearly done' })).status
  expect(await report()).toBe(409)
  const [asked] = await open()
  await post(person, `/escalations/${asked!.id}/answer`, { inputs })
  expect(await report()).toBe(409)
  await close()
})
