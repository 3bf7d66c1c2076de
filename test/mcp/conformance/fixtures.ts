// What the conformance suite asks every server to have, beside what Baton has: its tools, prompts and resources by their names.

import { setTimeout as sleep } from 'node:timers/promises'
import {
  acceptedContent,
  completable,
  inputRequired,
  type McpServer,
  ResourceTemplate,
} from '@modelcontextprotocol/server'
import * as z from 'zod'

/** A picture of one pixel. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAESsAACJWAAACABAAZGF0YQAAAAA='

const text = (words: string) => ({ type: 'text' as const, text: words })
const image = { type: 'image' as const, data: png, mimeType: 'image/png' }
const resource = (uri: string, words: string, mimeType = 'text/plain') => ({
  type: 'resource' as const,
  resource: { uri, mimeType, text: words },
})
const description = 'A fixture of the conformance suite'
const none = { description, inputSchema: z.object({}) }

export function addFixtures(server: McpServer): void {
  addContents(server)
  addQuestions(server)
  addPrompts(server)
  addResources(server)
}

function addContents(server: McpServer): void {
  const answers = {
    test_simple_text: [text('This is a simple text response for testing.')],
    test_image_content: [image],
    test_audio_content: [{ type: 'audio' as const, data: wav, mimeType: 'audio/wav' }],
    test_embedded_resource: [resource('test://embedded-resource', 'This is an embedded resource content.')],
    test_multiple_content_types: [
      text('Multiple content types test:'),
      image,
      resource('test://mixed-content-resource', '{"test":"data","value":123}', 'application/json'),
    ],
  }
  for (const [name, content] of Object.entries(answers)) server.registerTool(name, none, async () => ({ content }))
  server.registerTool('test_error_handling', none, async () => {
    throw new Error('This tool intentionally returns an error for testing')
  })
  server.registerTool('test_tool_with_progress', none, async (_input, { mcpReq }) => {
    const progressToken = mcpReq['_meta']?.progressToken
    for (const progress of [0, 50, 100]) {
      const params = { progress, total: 100 }
      if (progressToken !== undefined)
        await mcpReq.notify({ method: 'notifications/progress', params: { ...params, progressToken } })
      await sleep(50)
    }
    return { content: [text('done')] }
  })
}

const name = z.object({ name: z.string() })
const askName = inputRequired.elicit({ message: 'What is your name?', requestedSchema: name })
const askCapital = inputRequired.createMessage({
  messages: [{ role: 'user', content: text('What is the capital of France?') }],
  maxTokens: 100,
})

function addQuestions(server: McpServer): void {
  server.registerTool('test_input_required_result_elicitation', none, async (_input, { mcpReq }) => {
    const given = acceptedContent(mcpReq.inputResponses, 'user_name', name)
    if (given === undefined) return inputRequired({ inputRequests: { user_name: askName } })
    return { content: [text(`Hello, ${given.name}!`)] }
  })
  server.registerTool('test_input_required_result_sampling', none, async (_input, { mcpReq }) => {
    const given = mcpReq.inputResponses?.['capital_question']
    if (given === undefined) return inputRequired({ inputRequests: { capital_question: askCapital } })
    return { content: [text(JSON.stringify(given))] }
  })
  server.registerTool('test_input_required_result_list_roots', none, async (_input, { mcpReq }) => {
    const given = mcpReq.inputResponses?.['client_roots']
    if (given === undefined) return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } })
    return { content: [text(JSON.stringify(given))] }
  })
  addRounds(server)
}

const confirmation = z.object({ ok: z.boolean() })
const colour = z.object({ color: z.string() })
const capabilities = 'io.modelcontextprotocol/clientCapabilities'
const declared = z.object({
  [capabilities]: z.object({ elicitation: z.unknown().optional(), sampling: z.unknown().optional() }).optional(),
})

/** Questions with a state that the client sends back, several at once, and one after another. */
function addRounds(server: McpServer): void {
  server.registerTool('test_input_required_result_request_state', none, async (_input, { mcpReq }) => {
    const confirm = inputRequired.elicit({ message: 'Please confirm', requestedSchema: confirmation })
    if (mcpReq.requestState<string>() !== 'confirming')
      return inputRequired({ inputRequests: { confirm }, requestState: 'confirming' })
    return { content: [text('state-ok')] }
  })
  server.registerTool('test_input_required_result_multiple_inputs', none, async (_input, { mcpReq }) => {
    if (mcpReq.requestState<string>() === 'asked') return { content: [text('Thank you.')] }
    const inputRequests = { user_name: askName, greeting: askCapital, client_roots: inputRequired.listRoots() }
    return inputRequired({ inputRequests, requestState: 'asked' })
  })
  server.registerTool('test_input_required_result_multi_round', none, async (_input, { mcpReq }) => {
    const step2 = inputRequired.elicit({ message: 'Step 2: What is your favorite color?', requestedSchema: colour })
    switch (mcpReq.requestState<string>()) {
      case 'round 1':
        return inputRequired({ inputRequests: { step2 }, requestState: 'round 2' })
      case 'round 2':
        return { content: [text('Thank you.')] }
      default:
        return inputRequired({ inputRequests: { step1: askName }, requestState: 'round 1' })
    }
  })
  server.registerTool('test_input_required_result_capabilities', none, async (_input, { mcpReq }) => {
    const { [capabilities]: can } = declared.parse(mcpReq.envelope ?? {})
    return inputRequired({
      inputRequests: {
        ...(can?.elicitation === undefined ? {} : { user_name: askName }),
        ...(can?.sampling === undefined ? {} : { capital_question: askCapital }),
      },
    })
  })
}

function addPrompts(server: McpServer): void {
  const said = (...contents: (ReturnType<typeof text> | typeof image | ReturnType<typeof resource>)[]) => ({
    messages: contents.map((content) => ({ role: 'user' as const, content })),
  })
  server.registerPrompt('test_simple_prompt', { description }, () => said(text('This is a simple prompt for testing.')))
  const suggest = completable(z.string(), () => ['paris', 'park', 'party'])
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description, argsSchema: z.object({ arg1: suggest, arg2: z.string() }) },
    ({ arg1, arg2 }) => said(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  )
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description, argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) =>
      said(
        resource(resourceUri, 'Embedded resource content for testing.'),
        text('Please process the embedded resource above.'),
      ),
  )
  const context = z.object({ context: z.string() })
  server.registerPrompt('test_input_required_result_prompt', { description }, async ({ mcpReq }) => {
    const given = acceptedContent(mcpReq.inputResponses, 'user_context', context)
    if (given !== undefined) return said(text(`With the context ${given.context}`))
    const ask = inputRequired.elicit({ message: 'What context should the prompt use?', requestedSchema: context })
    return inputRequired({ inputRequests: { user_context: ask } })
  })
  server.registerPrompt('test_prompt_with_image', { description }, () =>
    said(image, text('Please analyze the image above.')),
  )
}

function addResources(server: McpServer): void {
  const one = (uri: URL, content: { mimeType: string } & ({ text: string } | { blob: string })) => ({
    contents: [{ uri: uri.href, ...content }],
  })
  server.registerResource('static text', 'test://static-text', { mimeType: 'text/plain' }, async (uri) =>
    one(uri, { mimeType: 'text/plain', text: 'This is the content of the static text resource.' }),
  )
  server.registerResource('static binary', 'test://static-binary', { mimeType: 'image/png' }, async (uri) =>
    one(uri, { mimeType: 'image/png', blob: png }),
  )
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { mimeType: 'application/json' },
    async (uri, { id }) =>
      one(uri, {
        mimeType: 'application/json',
        text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
      }),
  )
}
