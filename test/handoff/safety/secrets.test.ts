import { expect, test } from 'vitest'
import { redact } from '../../../src/handoff/safety/redact.ts'
import { lookAlikes, secretForms } from './secret-forms.ts'

test.each(Object.entries(secretForms))('every form is redacted: %s [H14]', async (_, forms) => {
  for (const marked of forms) {
    const secrets = [...marked.matchAll(/«([^»]*)»/g)].map(([, secret]) => secret!)
    expect(secrets, marked).not.toEqual([])
    const { text } = await redact(marked.replaceAll(/[«»]/g, ''))
    for (const secret of secrets) expect(text, marked).not.toContain(secret)
    expect((await redact(text)).text, `twice: ${marked}`).toBe(text)
  }
})

test.each(Object.entries(lookAlikes))('what only looks like a secret stays: %s [H14]', async (_, texts) => {
  for (const text of texts) expect((await redact(text)).text).toBe(text.trimEnd())
})

test('a form is found in the middle of a text, and nothing around it is lost [H14]', async () => {
  for (const marked of Object.values(secretForms).flat()) {
    const text = marked.replaceAll(/[«»]/g, '')
    const safe = (await redact(`Before it.\n\n${text}\n\nAfter it.`)).text
    expect(safe, marked).toMatch(/^Before it\.\n\n[^]*\n\nAfter it\.$/)
    for (const [, secret] of marked.matchAll(/«([^»]*)»/g)) expect(safe, marked).not.toContain(secret)
  }
})
