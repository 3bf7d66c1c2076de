// Commands that the user ran in the agent's prompt, in the words of each agent.

import { expect, test } from 'vitest'
import { conversation, Session, unresolved } from '../session.ts'

const printed = ' FAIL  test/sum.test.ts > adds\nAssertionError: expected 3 to be 4\n Tests  1 failed | 3 passed (4)'

const forms: Record<string, readonly string[]> = {
  'Claude Code': [
    '<bash-input>npm test</bash-input>',
    `<bash-stdout>${printed}</bash-stdout><bash-stderr></bash-stderr>`,
  ],
  Codex: [
    `<user_shell_command>\n<command>\nnpm test\n</command>\n<result>\nExit code: 1\nDuration: 0.4 seconds\nOutput:\n${printed}\n</result>\n</user_shell_command>`,
  ],
  'Gemini CLI': [
    `I ran the following shell command:\n\`\`\`sh\nnpm test\n\`\`\`\n\nThis produced the following result:\n\`\`\`\n${printed}\n\`\`\``,
  ],
  pi: [`Ran \`npm test\`\n\`\`\`\n${printed}\n\`\`\`\n\nCommand exited with code 1`],
}

test.each(Object.entries(forms))('a command that the user ran in %s counts, and asks for nothing', (_, messages) => {
  const s = new Session()
  const asked = s.user('直してください')
  s.assistant('直しました。')
  for (const message of messages) s.user(message)
  const facts = s.ledger()
  expect(unresolved(facts)).toEqual(['npm test'])
  expect(facts.lastRequest?.id).toBe(asked)
  expect(facts.ending.state).toBe('answered')
})

test('a message that only quotes such a command is the words of the user', () => {
  const s = conversation('Fix it.', 'Fixed.')
  const again = s.user(
    `It still fails:\n<bash-input>npm test</bash-input>\n<bash-stdout>${printed}</bash-stdout>\nSee?`,
  )
  expect(s.ledger().lastRequest?.id).toBe(again)
})
