import fs from 'node:fs'
import path from 'node:path'
import { installed, type RealAgent, type Stage } from './stage.ts'

const piWindow = 40_000

export const pi: RealAgent = {
  name: 'pi',
  prepare(stage) {
    const model = {
      id: 'scripted',
      reasoning: false,
      input: ['text'],
      contextWindow: piWindow,
      maxTokens: 1000,
      cost: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 0 },
    }
    const loop = {
      baseUrl: `${stage.url}/v1`,
      api: 'openai-completions',
      apiKey: 'none',
      compat: { supportsDeveloperRole: false, supportsReasoningEffort: false },
      models: [model],
    }
    fs.mkdirSync(folder(stage), { recursive: true })
    fs.writeFileSync(path.join(folder(stage), 'models.json'), JSON.stringify({ providers: { loop } }, null, 2))
    const settings = { compaction: { enabled: true, reserveTokens: 16_384, keepRecentTokens: 200 } }
    fs.writeFileSync(path.join(folder(stage), 'settings.json'), JSON.stringify(settings, null, 2))
  },
  turn: (_stage, prompt, session) => [
    ...command,
    '-p',
    prompt,
    ...(session === undefined ? [] : ['--session', session]),
  ],
  env: (stage) => ({
    PI_CODING_AGENT_DIR: folder(stage),
    PI_OFFLINE: '1',
    PI_TELEMETRY: '0',
    PI_SKIP_VERSION_CHECK: '1',
  }),
}

const command = [
  process.execPath,
  installed('@earendil-works/pi-coding-agent/dist/cli.js'),
  '--offline',
  '--provider',
  'loop',
  '--model',
  'scripted',
]

/** Speaks JSON lines on stdin and stdout, and tells how full its context is. */
export const piRpc: readonly string[] = [...command, '--mode', 'rpc']

function folder({ home }: Stage): string {
  return path.join(home, '.pi/agent')
}
