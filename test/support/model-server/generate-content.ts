import { z } from 'zod'
import { Conversation } from './conversation.ts'
import { googleFailure } from './google-failure.ts'
import type { Frame, Protocol } from './protocol.ts'
import { type Reply, say } from './reply.ts'
import type { Prompt } from './request.ts'
import type { Turn } from './turn.ts'

// Lenient like the others: of the many kinds of parts only these three matter.
const part = z.looseObject({
  text: z.string().nullish(),
  thought: z.boolean().nullish(),
  functionCall: z.looseObject({ id: z.string().nullish(), name: z.string(), args: z.unknown().optional() }).nullish(),
  functionResponse: z
    .looseObject({ id: z.string().nullish(), name: z.string(), response: z.unknown().optional() })
    .nullish(),
})
const content = z.looseObject({ role: z.string().nullish(), parts: z.array(part).nullish() })

const bodySchema = z.looseObject({
  contents: z.array(content),
  systemInstruction: content.nullish(),
  tools: z
    .array(z.looseObject({ functionDeclarations: z.array(z.looseObject({ name: z.string() })).nullish() }))
    .nullish(),
  generationConfig: z.looseObject({ responseJsonSchema: z.unknown().optional() }).nullish(),
})

/** Google's generateContent. The model and the wish for a stream stand in the path. */
export const generateContent: Protocol = {
  api: 'generate-content',
  read,
  aside,
  whole: (turn) => chunk(turn, [...spoken(joined(turn)), ...calls(turn)], true),
  stream,
  failure: googleFailure,
  streamFailure: (failure, turn) => [frame(googleFailure(failure, turn).body)],
}

function read(body: unknown, path: string): Prompt {
  const { contents, systemInstruction, tools } = bodySchema.parse(body)
  const [, model = '', verb = ''] = /\/models\/([^/:]+):(\w+)$/.exec(path) ?? []
  const conversation = new Conversation()
  conversation.system((systemInstruction?.parts ?? []).map(({ text }) => text ?? '').join('\n'))
  for (const { role, parts } of contents) {
    const text = (parts ?? []).flatMap((each) => (each.thought === true ? [] : (each.text ?? []))).join('\n')
    if (role === 'model') {
      conversation.assistant(text)
      for (const { functionCall: made } of parts ?? [])
        if (made) conversation.toolCall(made.id ?? made.name, made.name, made.args)
    } else {
      const results = (parts ?? []).flatMap(({ functionResponse }) => functionResponse ?? [])
      for (const { id, name, response } of results) conversation.toolResult(id ?? name, wordsOf(response))
      if (text !== '' || results.length === 0) conversation.user(text)
    }
  }
  const offered = (tools ?? []).flatMap(({ functionDeclarations }) => functionDeclarations ?? [])
  return conversation.prompt({
    model,
    stream: verb === 'streamGenerateContent',
    tools: offered.map(({ name }) => name),
  })
}

/** Which model is to answer: Gemini CLI asks that before each prompt when its model is Auto. */
function aside(body: unknown): Reply | undefined {
  const asked = JSON.stringify(bodySchema.parse(body).generationConfig?.responseJsonSchema ?? {})
  if (asked.includes('"model_choice"')) return say('{"reasoning":"scripted","model_choice":"flash"}')
  if (asked.includes('"complexity_score"')) return say('{"complexity_reasoning":"scripted","complexity_score":10}')
  return undefined
}

function stream(turn: Turn): Frame[] {
  const pieces = [...spoken(turn), ...calls(turn)].map((each) => frame(chunk(turn, [each]), true))
  return [...pieces, frame(chunk(turn, [{ text: '' }], true))]
}

function spoken({ reasoning, text }: Turn): { text: string; thought?: true }[] {
  return [...reasoning.map((each) => ({ text: each, thought: true as const })), ...text.map((each) => ({ text: each }))]
}

function joined(turn: Turn): Turn {
  const whole = (pieces: string[]) => (pieces.length === 0 ? [] : [pieces.join('')])
  return { ...turn, reasoning: whole(turn.reasoning), text: whole(turn.text) }
}

/** Calls are never cut into pieces. */
function calls(turn: Turn): object[] {
  return turn.calls.map(({ id, name, arguments: args }) => ({
    functionCall: { id, name, args: JSON.parse(args.join('')) as unknown },
    thoughtSignature: Buffer.from(`scripted ${turn.id}`).toString('base64'),
  }))
}

function chunk(turn: Turn, parts: readonly object[], last = false): object {
  const { input, output, cached } = turn.usage
  const candidate = { content: { role: 'model', parts }, index: 0 }
  return {
    candidates: [last ? { ...candidate, finishReason: reasons[turn.stop] } : candidate],
    usageMetadata: {
      promptTokenCount: input,
      cachedContentTokenCount: cached,
      candidatesTokenCount: output - turn.reasoningTokens,
      thoughtsTokenCount: turn.reasoningTokens,
      totalTokenCount: input + output,
    },
    modelVersion: turn.model,
    responseId: turn.id,
  }
}

const reasons = { stop: 'STOP', 'tool-calls': 'STOP', length: 'MAX_TOKENS', refusal: 'SAFETY' }

function frame(data: unknown, piece = false): Frame {
  return { data: `data: ${JSON.stringify(data)}\r\n\r\n`, piece }
}

/** What a tool printed, where it says so; else all it answered. */
function wordsOf(response: unknown): string {
  const { output, error } = z
    .looseObject({ output: z.unknown().optional(), error: z.unknown().optional() })
    .parse(response ?? {})
  const said = output ?? error ?? response
  return typeof said === 'string' ? said : JSON.stringify(said)
}
