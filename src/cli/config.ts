// `baton config`: what baton.config.json may say, and whether what it says is right.

import * as z from 'zod'
import { configFile, loadConfig } from '../config/index.ts'
import { transcriptsSection } from '../config/index.ts'
import { notifySection } from '../notify/index.ts'
import { relaySection } from '../relay/index.ts'
import { supervisorSection } from '../supervisor/index.ts'
import { taskSection } from '../task/index.ts'
import { telemetrySection } from '../telemetry/index.ts'
import { agentSection } from './chat/create-agent.ts'
import { type Globals, Output } from './base/output.ts'

/** What checks each section. */
export const sections = {
  agent: agentSection,
  notify: notifySection,
  relay: relaySection,
  supervisor: supervisorSection,
  task: taskSection,
  telemetry: telemetrySection,
  transcripts: transcriptsSection,
} as const

type Name = keyof typeof sections

/** Prints the schema that `$schema` may point at, so that an editor completes and checks the file. */
export async function schema(globals: Globals): Promise<void> {
  const properties = Object.entries(sections).map(([name, section]) => {
    const { $schema: _draft, ...own } = z.toJSONSchema(section, { io: 'input', unrepresentable: 'any' })
    return [name, own] as const
  })
  const whole = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: configFile,
    type: 'object',
    properties: { $schema: { type: 'string' }, store: { type: 'string' }, ...Object.fromEntries(properties) },
  }
  new Output(globals).line(JSON.stringify(whole, null, 2))
}

/** Throws at the first mistake; else shows the settings in effect, including defaults. */
export async function check(globals: Globals): Promise<void> {
  const out = new Output(globals)
  const config = loadConfig(globals.io.cwd())
  const settings = Object.fromEntries(
    (Object.keys(sections) as Name[]).map((name) => [name, config.section(name, sections[name])]),
  )
  if (out.json) out.data({ file: config.file, ...settings })
  else if (config.file === undefined) out.line(`There is no ${configFile} here or above: the defaults apply.`)
  else out.line(`${config.file} is valid.`)
}
