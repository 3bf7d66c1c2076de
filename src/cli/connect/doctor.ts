// `baton doctor`: whether everything that Baton needs is there and works.

import fs from 'node:fs'
import { examine, type Finding, realProject } from '../../connect/index.ts'
import { chosenWorkspace } from '../base/chosen-workspace.ts'
import { type Globals, Output } from '../base/output.ts'

const marks = { ok: 'ok', warning: 'warning', problem: 'problem' } as const satisfies Record<Finding['is'], string>
const colours = { ok: 'green', warning: 'yellow', problem: 'red' } as const

export async function doctor(globals: Globals): Promise<void> {
  const { io } = globals
  const out = new Output(globals)
  const cwd = io.cwd()
  const [node, script] = io.self
  const findings = await examine({
    cwd,
    env: io.env,
    project: realProject(cwd),
    address: chosenWorkspace(globals).address,
    self: [node, fs.existsSync(script) ? fs.realpathSync(script) : script],
  })
  if (out.json) for (const finding of findings) out.data(finding)
  else {
    for (const { is, text, advice } of findings) {
      out.line(`${out.style(colours[is], marks[is].padEnd(8))} ${text}`)
      if (advice !== undefined) out.line(`${' '.repeat(9)}${advice}`)
    }
  }
  if (findings.some(({ is }) => is === 'problem')) io.exit.code = 1
}
