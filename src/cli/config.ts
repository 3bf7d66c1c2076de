// `baton config`: what baton.config.json may say, and whether what it says is right.

import * as z from 'zod'
import { configFile, loadConfig } from '../config/config.ts'
import { transcriptsSection } from '../config/models-section.ts'
import { notifySection } from '../notify/index.ts'
import { relaySection } from '../relay/settings.ts'
import { supervisorSection } from '../supervisor/settings.ts'
import { taskSection } from '../task/settings.ts'
import { telemetrySection } from '../telemetry/settings.ts'
import { agentSection } from './chat/settings.ts'
import { type Globals, Output } from './output.ts'

const sections = {
  agent: agentSection,
  notify: notifySection,
  relay: relaySection,
  supervisor: supervisorSection,
  task: taskSection,
  telemetry: telemetrySection,
  transcripts: transcriptsSection,
} as const

type Name = keyof typeof sections

/** For `$schema`, so that an editor completes and checks the file. */
export async function schema(): Promise<void> {
  const properties = Object.entries(sections).map(([name, section]) => {
    const { $schema: _draft, ...own } = z.toJSONSchema(section, { io: 'input', unrepresentable: 'any' })
    return [name, own] as const
  })
  const whole = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: configFile,
    type: 'object',
    properties: { $schema: { type: 'string' }, ...Object.fromEntries(properties) },
  }
  process.stdout.write(`${JSON.stringify(whole, null, 2)}\n`)
}

/** Throws at the first mistake; else shows what counts, defaults included. */
export async function check(globals: Globals): Promise<void> {
  const out = new Output(globals)
  const config = loadConfig()
  const settings = Object.fromEntries(
    (Object.keys(sections) as Name[]).map((name) => [name, config.section(name, sections[name])]),
  )
  if (out.json) out.data({ file: config.file, ...settings })
  else if (config.file === undefined) out.line(`There is no ${configFile} here or above: everything has its default.`)
  else out.line(`${config.file} is right.`)
}
