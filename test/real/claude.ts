import fs from 'node:fs'
import path from 'node:path'
import { installed, platform, type RealAgent } from './stage.ts'

const key = 'sk-ant-scripted-0000000000'

/** Its status line hands what it is told to this file, one line each. */
export const statusFile = 'status.jsonl'

export const claude: RealAgent = {
  name: 'claude',
  prepare({ home, project }) {
    const trusted = { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true, allowedTools: [] }
    write(path.join(home, '.claude.json'), {
      hasCompletedOnboarding: true,
      theme: 'dark',
      customApiKeyResponses: { approved: [key.slice(-20)], rejected: [] },
      projects: { [project]: trusted },
    })
    write(path.join(home, '.claude/settings.json'), {
      permissions: { allow: ['Bash', 'Write', 'Edit', 'Read', 'Task', 'TodoWrite'], defaultMode: 'acceptEdits' },
      statusLine: { type: 'command', command: `(cat; echo) >> ${path.join(home, statusFile)}` },
    })
  },
  turn: (_stage, prompt, session) => [
    installed('@anthropic-ai', `claude-code-${platform}`, 'claude'),
    '-p',
    prompt,
    '--output-format=json',
    '--model=claude-sonnet-4-5',
    ...(session === undefined ? [] : ['--resume', session]),
  ],
  screen: () => [installed('@anthropic-ai', `claude-code-${platform}`, 'claude'), '--model', 'claude-sonnet-4-5'],
  env: ({ url }) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: key,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_ERROR_REPORTING: '1',
    CLAUDE_CODE_MAX_RETRIES: '0',
  }),
}

function write(file: string, value: unknown): void {
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, JSON.stringify(value, null, 2))
}
