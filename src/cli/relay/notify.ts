// `baton notify test`: tries out the channels of baton.config.json.

import os from 'node:os'
import { configFile, loadConfig } from '../../config/index.ts'
import { InvalidError } from '../../errors.ts'
import { type NotifyChannel, type NotifyOutcome, notifySection, openNotifier } from '../../notify/index.ts'
import { demandTrustedProject } from '../base/chosen-workspace.ts'
import { type Globals, Output } from '../base/output.ts'

export async function test(globals: Globals): Promise<void> {
  demandTrustedProject('Nothing was sent', globals)
  const config = loadConfig(globals.io.cwd())
  const settings = config.section('notify', notifySection)
  if (settings.channels.length === 0) {
    const where = config.file ?? configFile
    const example =
      '{"notify": {"channels": [{"type": "webhook", "preset": "ntfy", "url": "https://ntfy.sh/YOUR-TOPIC"}]}}'
    throw new InvalidError(`${where} names no channel to notify`, { hint: `For example: ${example}` })
  }
  const out = new Output(globals)
  const tried = await Promise.all(
    settings.channels.map(async (channel) => {
      const alone = openNotifier({ ...settings, channels: [channel] }, { env: globals.io.env })
      return (await alone.notify(trial(channel)))[0]!
    }),
  )
  for (const outcome of tried) {
    if (out.json) out.data(outcome)
    else out.line(`${outcome.channel}: ${sentence(outcome)}`)
  }
  if (tried.some(({ status }) => status === 'failed')) globals.io.exit.code = 1
}

function trial({ levels }: NotifyChannel) {
  return {
    level: levels[0]!,
    title: 'Baton can reach you',
    body: `A test from ${os.hostname()}: when a person is needed, a message arrives here.`,
    action: 'Nothing to do.',
    source: 'notify test',
  }
}

function sentence(outcome: NotifyOutcome): string {
  if (outcome.status === 'repeated') return 'sent a moment ago'
  const tries = outcome.attempts === 1 ? '' : ` after ${outcome.attempts} attempts`
  return outcome.status === 'sent' ? `sent in ${outcome.ms} ms${tries}` : `FAILED${tries}: ${outcome.error}`
}
