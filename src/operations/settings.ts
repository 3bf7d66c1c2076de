// What is configured, and whether everything that Baton needs is there: for looking, not for changing. Settings may name channels that
// others should not know, and the doctor starts programs: both are for the owner of the workspace.

import fs from 'node:fs'
import * as z from 'zod'
import { loadConfig, transcriptsSection } from '../config/index.ts'
import { examine, realProject } from '../connect/index.ts'
import { BatonError } from '../errors.ts'
import { redactValue } from '../handoff/index.ts'
import { notifySection } from '../notify/index.ts'
import { relaySection } from '../relay/index.ts'
import { supervisorSection } from '../supervisor/index.ts'
import { taskSection } from '../task/index.ts'
import { telemetrySection } from '../telemetry/index.ts'
import { operation } from './operation.ts'

const sections = {
  supervisor: supervisorSection,
  relay: relaySection,
  task: taskSection,
  notify: notifySection,
  transcripts: transcriptsSection,
  telemetry: telemetrySection,
} as const

export const settingsShow = operation('settings.show', 'admin', 'POST /settings', {
  summary: 'The configuration in effect, section by section: each value, whether it is a default, and what is wrong.',
  input: z.object({}),
  output: z.object({
    file: z.string().optional().describe('The baton.config.json; missing where everything has its default.'),
    problem: z.string().optional().describe('Why the file cannot be read at all.'),
    sections: z.array(
      z.object({
        name: z.string(),
        problem: z.string().optional(),
        values: z.array(z.object({ name: z.string(), value: z.string().describe('As JSON.'), isDefault: z.boolean() })),
      }),
    ),
  }),
  async run({ cwd }) {
    try {
      const config = loadConfig(cwd)
      const names = Object.keys(sections) as (keyof typeof sections)[]
      return { file: config.file, sections: await Promise.all(names.map((name) => sectionOf(name, config))) }
    } catch (error) {
      if (!BatonError.is(error)) throw error
      return { problem: sentence(error), sections: [] }
    }
  },
})

async function sectionOf(name: keyof typeof sections, config: ReturnType<typeof loadConfig>) {
  try {
    const usual: Record<string, unknown> = sections[name].parse({})
    const settings: Record<string, unknown> = config.section(name, sections[name])
    const { value: shown } = await redactValue(settings)
    const values = Object.entries(settings).map(([field, value]) => ({
      name: field,
      value: JSON.stringify(shown[field]) ?? 'null',
      isDefault: JSON.stringify(value) === JSON.stringify(usual[field]),
    }))
    return { name, values }
  } catch (error) {
    if (!BatonError.is(error)) throw error
    return { name, problem: sentence(error), values: [] }
  }
}

function sentence({ message, hint }: BatonError): string {
  return hint === undefined ? message : `${message}. ${hint}`
}

const finding = z.object({
  about: z.string(),
  is: z.enum(['ok', 'warning', 'problem']),
  text: z.string(),
  advice: z.string().optional().describe('What to do about it.'),
})

export const doctorCheck = operation('doctor.check', 'admin', 'POST /doctor', {
  summary: 'Whether everything that Baton needs is there and works: each finding is fine, a warning or a problem.',
  input: z.object({}),
  output: z.object({ findings: z.array(finding) }),
  async run({ cwd, env, address, self: [node, script] }) {
    const self = [node, fs.existsSync(script) ? fs.realpathSync(script) : script] as const
    return { findings: await examine({ cwd, env, project: realProject(cwd), address, self }) }
  },
})
