import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { redact, redactAll, redactValue } from '../../../src/handoff/safety/redact.ts'

const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'

/** Random enough that no rule takes it for an example. */
function word(length: number, alphabet = letters) {
  const many = Math.min(12, length / 2, alphabet.length / 2)
  return fc
    .array(fc.constantFrom(...alphabet.split('')), { minLength: length, maxLength: length })
    .map((all) => all.join(''))
    .filter((text) => new Set(text).size > many && /\d/.test(text) && /[a-z]/i.test(text) && !/(.)\1{3}/.test(text))
}

const hex = '0123456789abcdef'
const secrets: Record<string, fc.Arbitrary<{ secret: string; text: string }>> = {
  'GitHub token': word(36).map((key) => alone(`ghp_${key}`)),
  'GitHub token, fine-grained': fc.tuple(word(22), word(59)).map(([a, b]) => alone(`github_pat_${a}_${b}`)),
  'Anthropic key': word(93).map((key) => alone(`sk-ant-api03-${key}AA`)),
  'OpenAI key': fc.tuple(word(20), word(20)).map(([a, b]) => alone(`sk-${a}T3BlbkFJ${b}`)),
  'OpenAI project key': word(80).map((key) => alone(`sk-proj-${key}`)),
  'AWS secret': word(40).map((key) => ({ secret: key, text: `AWS_SECRET_ACCESS_KEY=${key}` })),
  'AWS id': word(16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567').map((key) => alone(`AKIA${key}`)),
  'Slack token': fc.tuple(word(12, '123456789a'), word(24)).map(([a, b]) => alone(`xoxb-${a}-${b}`)),
  'npm token': word(36).map((key) => alone(`npm_${key}`)),
  'GitLab token': word(20).map((key) => alone(`glpat-${key}`)),
  'Google key': word(35).map((key) => alone(`AIza${key}`)),
  'Stripe key': word(24).map((key) => alone(`sk_live_${key}`)),
  'JSON web token': fc.tuple(word(30), word(40), word(43)).map(([a, b, c]) => alone(`eyJ${a}.eyJ${b}.${c}`)),
  'basic auth': word(14).map((key) => ({ secret: key, text: `git clone https://ci:${key}@example.org/x.git` })),
  database: word(14).map((key) => ({ secret: key, text: `postgres://app:${key}@db.local:5432/app` })),
  password: word(12).map((key) => ({ secret: key, text: `DB_PASSWORD=${key}` })),
  'password in YAML': word(12).map((key) => ({ secret: key, text: `  password: "${key}"` })),
  'token in JSON': word(20).map((key) => ({ secret: key, text: `{"access_token":"${key}"}` })),
  'api key': word(32, hex).map((key) => ({ secret: key, text: `api_key = '${key}'` })),
  flag: word(16).map((key) => ({ secret: key, text: `deploy --auth-token ${key} --dry-run` })),
  bearer: word(40).map((key) => ({ secret: key, text: `curl -H "Authorization: Bearer ${key}" https://x.org` })),
  'private key': fc.tuple(word(64), word(64)).map(([a, b]) => ({
    secret: a,
    text: `-----BEGIN OPENSSH PRIVATE KEY-----\n${a}\n${b}\n-----END OPENSSH PRIVATE KEY-----`,
  })),
  'private key, its start cut off': word(64).map((key) => ({
    secret: key,
    text: `${key}\n-----END RSA PRIVATE KEY-----`,
  })),
}

function alone(secret: string) {
  return { secret, text: secret }
}

describe('redaction', () => {
  for (const [kind, arbitrary] of Object.entries(secrets)) {
    test(`lets no secret through: ${kind} [H14]`, async () => {
      const around = fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => text.replace(/[\w\\]/g, ' '))
      await fc.assert(
        fc.asyncProperty(arbitrary, around, around, async ({ secret, text }, before, after) => {
          const { text: safe, kinds } = await redact(`${before} ${text}\n${after}`)
          expect(safe).not.toContain(secret)
          expect(safe).toMatch(/\[redacted: [^\]]+\]/)
          expect(kinds.size).toBeGreaterThan(0)
        }),
        { numRuns: 40 },
      )
    })
  }

  test('says what kind of secret was there, and keeps the rest [H14]', async () => {
    const { text } = await redact(
      'push with 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 to https://joe:hunter22@example.org/x',
    )
    expect(text).toBe('push with [redacted: GitHub token] to https://[redacted: basic auth]@example.org/x')
  })

  test('leaves code and prose alone', async () => {
    const text = [
      'password: string; const token = process.env.TOKEN; maxTokens: 2000, tokens = countTokens(text)',
      'The token: see src/auth/token.ts. secret = await loadSecret(name); commit 0123456789abcdef0123456789abcdef01234567',
    ].join('\n')
    expect((await redact(text)).text).toBe(text)
  })

  test('is not switched off by a comment in the text [H14]', async () => {
    const { text } = await redact('/* secretlint-disable */ xoxb-123456789012-1234567890123-abcdEFGHijklMNOPqrstUVWX')
    expect(text).not.toContain('xoxb')
  })

  test('is not fooled by colours within a secret [H14]', async () => {
    const { text } = await redact('ghp_wWPw5k4aXcaT\u001b[31m4fNP0UcnZwJUVFk6LO0pINUx\u001b[0m')
    expect(text).toBe('[redacted: GitHub token]')
  })

  test('takes a secret out of every text, once one gives it away [H14]', async () => {
    const { texts } = await redactAll(['PASSWORD=correct-horse-7', 'it said correct-horse-7 again'])
    expect(texts).toEqual(['PASSWORD=[redacted: password]', 'it said [redacted: password] again'])
    const { value } = await redactValue({ a: ['SECRET=abcd-1234-efgh'], n: 1, none: undefined })
    expect(value).toEqual({ a: ['SECRET=[redacted: secret]'], n: 1, none: undefined })
  })

  test('does nothing the second time', async () => {
    const all = fc.tuple(...Object.values(secrets)).map((found) => found.map(({ text }) => text).join('\n'))
    await fc.assert(
      fc.asyncProperty(all, async (text) => {
        const once = await redact(text)
        expect((await redact(once.text)).text).toBe(once.text)
      }),
      { numRuns: 20 },
    )
  })

  describe('of 1 MB', () => {
    const size = 1_000_000
    let prose = 0
    beforeAll(async () => {
      prose = await cost('the quick brown fox jumps over\n')
    })

    test.each([
      ['one letter', 'a'],
      ['starts of tokens', 'ghp_'],
      ['assignments', 'password=x'],
      ['starts of keys', '-----BEGIN RSA PRIVATE KEY-----\n'],
      ['starts of addresses', 'https://a:'],
      ['escape characters', '\u001b]'],
      ['Slack prefixes', 'xoxb-'],
      ['cookies', 'cookie: a='],
      ['sentences about passwords', 'password is '],
      ['quotes that stay open', '"token": "'],
    ])('takes for %s at most ten times what prose takes [H14]', async (_, part) => {
      expect((await cost(part)) / prose).toBeLessThan(10)
    })

    /** Of the processor: how busy the machine is otherwise says nothing about the text. */
    async function cost(part: string): Promise<number> {
      const before = process.cpuUsage()
      await redact(part.repeat(size / part.length))
      const { user, system } = process.cpuUsage(before)
      return user + system
    }
  })
})
