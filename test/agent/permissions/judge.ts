// A workspace with something outside of it, and a policy for it.

import fs from 'node:fs'
import path from 'node:path'
import { permissionPolicy, type PermissionSettings } from '../../../src/agent/permissions/policy.ts'
import { bash } from '../../../src/agent/tools/index.ts'
import type { AgentTool, Decision } from '../../../src/agent/tools/tool.ts'
import { temporaryFolder } from '../../support/workspace.ts'

export interface Folders {
  readonly cwd: string
  readonly outside: string
}

export function makeFolders(): Folders {
  const root = fs.realpathSync(temporaryFolder())
  const cwd = path.join(root, 'work')
  const outside = path.join(root, 'outside')
  fs.mkdirSync(path.join(cwd, 'src'), { recursive: true })
  fs.mkdirSync(outside)
  fs.writeFileSync(path.join(outside, 'secret'), '')
  fs.writeFileSync(path.join(cwd, 'src/a.ts'), '')
  return { cwd, outside }
}

/** Decides about calls as the loop does. */
export function judge(cwd: string, settings: PermissionSettings & { yes?: boolean } = {}) {
  const policy = permissionPolicy({ cwd, ...settings })
  const access = (tool: AgentTool, input: unknown) =>
    // The tools here say what they touch without a tape.
    tool.access?.(input, { cwd } as never) as never
  return {
    policy,
    decide: (tool: AgentTool, input: unknown): Decision =>
      policy.decide(tool, input, access(tool, input) ?? { kind: 'none' }),
    remember: (tool: AgentTool, input: unknown) => policy.remember(tool, input, access(tool, input)),
    always: (tool: AgentTool, input: unknown) => policy.always(tool, input, access(tool, input)),
    run: (command: string): Decision => policy.decide(bash, { command }, { kind: 'command', command }),
  }
}
