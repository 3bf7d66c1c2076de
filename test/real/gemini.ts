import fs from 'node:fs'
import path from 'node:path'
import { installed, type RealAgent } from './stage.ts'

export const gemini: RealAgent = {
  name: 'gemini',
  prepare({ home }) {
    const settings = {
      security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
      // By their newest names: Gemini CLI rewrites a file that has the old ones.
      general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
      privacy: { usageStatisticsEnabled: false },
      ui: { hideTips: true, hideBanner: true },
      tools: { allowed: ['write_file', 'run_shell_command', 'read_file'] },
    }
    const folder = path.join(home, '.gemini')
    fs.mkdirSync(folder, { recursive: true })
    fs.writeFileSync(path.join(folder, 'settings.json'), JSON.stringify(settings, null, 2))
  },
  turn: (_stage, prompt, session) => [
    ...command,
    '--output-format',
    'json',
    ...(session === undefined ? [] : ['--resume', session]),
    '-p',
    prompt,
  ],
  screen: () => command,
  env: ({ url }) => ({ GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: url }),
}

const command = [process.execPath, installed('@google/gemini-cli/bundle/gemini.js'), '--model', 'gemini-2.5-pro']
