import { expect, test } from 'vitest'
import { adviceFor } from '../../../../src/supervisor/session/records/recorder.ts'

const run = { name: 'shop', agent: 'pi', cwd: '/shop', driver: 'tmux', args: [] } as const
const resting = { at: 'watching' } as const

test('nobody is sent to the screen of an agent that has none [C16]', () => {
  const words = [
    'attach',
    'error',
    'clear',
    'resume',
    'logs',
    'restart',
    'over-usd',
    'over-stalled',
    'disk',
    'limit',
    'cycle',
    'breaker',
    'project',
  ]
  for (const word of words) {
    const advice = adviceFor(word, { ...run, driver: 'headless' }, resting)
    expect(advice).not.toMatch(/attach|screen/)
    expect(advice).not.toBe('')
  }
  expect(adviceFor('over-usd', run, resting)).toBe('To continue with a larger bound: baton resume shop --max-usd N')
  expect(adviceFor('attach', run, resting)).toBe('Look at its screen: baton attach shop')
})
