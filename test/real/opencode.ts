import fs from 'node:fs'
import path from 'node:path'
import { installed, platform, type RealAgent } from './stage.ts'

export const opencode: RealAgent = {
  name: 'opencode',
  prepare({ home, url }) {
    const model = { name: 'scripted', limit: { context: 100_000, output: 4_000 }, cost: { input: 1, output: 2 } }
    const settings = {
      $schema: 'https://opencode.ai/config.json',
      model: 'loop/scripted',
      small_model: 'loop/scripted',
      enabled_providers: ['loop'],
      autoupdate: false,
      share: 'disabled',
      permission: { edit: 'allow', bash: 'allow' },
      provider: {
        loop: {
          npm: '@ai-sdk/openai-compatible',
          name: 'loop',
          options: { baseURL: `${url}/v1`, apiKey: 'none' },
          models: { scripted: model },
        },
      },
    }
    const folder = path.join(home, '.config/opencode')
    fs.mkdirSync(folder, { recursive: true })
    fs.writeFileSync(path.join(folder, 'opencode.json'), JSON.stringify(settings, null, 2))
  },
  turn: (_stage, prompt, session) => [
    installed(`opencode-${platform}`, 'bin/opencode'),
    'run',
    '--format',
    'json',
    ...(session === undefined ? [] : ['-s', session]),
    // Words one by one: what holds a space is quoted again.
    ...prompt.split(' '),
  ],
  env: () => ({ OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' }),
}
