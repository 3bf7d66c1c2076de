import fs from 'node:fs'
import path from 'node:path'
import { installed, type RealAgent } from './stage.ts'

const codexWindow = 20_000

export const codex: RealAgent = {
  name: 'codex',
  prepare({ home, project, url }) {
    const folder = path.join(home, '.codex')
    fs.mkdirSync(folder, { recursive: true })
    fs.writeFileSync(
      path.join(folder, 'config.toml'),
      `model = "scripted"
model_provider = "loop"
model_context_window = ${codexWindow}
model_auto_compact_token_limit = 15000
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.loop]
name = "loop"
base_url = "${url}/v1"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0

[projects."${project}"]
trust_level = "trusted"
`,
    )
  },
  turn: (_stage, prompt, session) => [
    process.execPath,
    installed('@openai/codex/bin/codex.js'),
    'exec',
    ...(session === undefined ? [] : ['resume']),
    '--json',
    '--skip-git-repo-check',
    ...(session === undefined ? [] : [session]),
    prompt,
  ],
  env: ({ home }) => ({ CODEX_HOME: path.join(home, '.codex') }),
}
