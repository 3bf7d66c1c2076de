// `baton token …`: who may call the server.

import { randomBytes } from 'node:crypto'
import { allows, type Scope } from '../../operations/index.ts'
import { Tokens } from '../../server/index.ts'
import { agentOfThisProcess } from '../../system/index.ts'
import { age, type Globals, Output } from '../base/output.ts'
import { withWorkspace } from '../base/workspace.ts'

interface CreateOptions extends Globals {
  scope: Scope
  agent?: boolean
  days?: number
}

/** Opening the workspace makes it where there is none, and refuses one that is not ours. */
async function withTokens(
  globals: Globals,
  scope: Scope,
  work: (tokens: Tokens, out: Output) => Promise<void>,
): Promise<void> {
  await withWorkspace(globals, async ({ workspace }, out) => work(new Tokens((await workspace(scope)).folder), out))
}

export async function create(options: CreateOptions, given: string | undefined): Promise<void> {
  await withTokens(options, 'admin', async (tokens, out) => {
    const { scope, agent, days } = options
    const name = given ?? `${scope}-${randomBytes(3).toString('hex')}`
    const life = days === undefined ? {} : { lifeMs: days * 24 * 60 * 60 * 1000 }
    // Only with `operate` does a token speak for a person, which no agent can give itself.
    const maker = agent === true || !allows(scope, 'operate') ? undefined : agentOfThisProcess()
    const kind = agent === true || maker !== undefined ? 'agent' : 'program'
    const { token, id } = await tokens.create({ name, scope, kind, ...life })
    out.record({ token, id, name, scope }, token)
    if (maker !== undefined) out.warn(`It is an agent's token, which decides nothing in a person's name: ${maker}`)
    if (out.io.stdout.isTTY === true) out.note(`It is shown this once. To end it: baton token revoke ${name}`)
  })
}

export async function ls(globals: Globals): Promise<void> {
  await withTokens(globals, 'read', async (tokens, out) => {
    const rows = tokens.all().map(({ hash: _hash, ...token }) => token)
    out.list(rows, {
      none: 'No tokens yet. Make one with "baton token create".',
      head: ['NAME', 'ID', 'SCOPE', 'FOR', 'MADE', 'UNTIL'],
      row: ({ name, id, scope, kind, created, expires }) => [
        name,
        id,
        scope,
        kind,
        age(created),
        expires?.slice(0, 10) ?? '',
      ],
    })
  })
}

export async function revoke(globals: Globals, ref: string): Promise<void> {
  await withTokens(globals, 'admin', async (tokens, out) => {
    const gone = await tokens.revoke(ref)
    out.list(
      gone.map(({ id, name, scope }) => ({ id, name, scope })),
      { line: ({ name, id }) => `${name} (${id}) is revoked` },
    )
  })
}
