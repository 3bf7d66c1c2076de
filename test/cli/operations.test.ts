// Commands do their work by the operations that programs and models call, too. Whatever opens a store in another way is listed here.
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const root = path.join(import.meta.dirname, '../../src')

/** What reaches a store, a relay or tasks without an operation. */
const opener =
  /\b(withStore|openStore|openTasks|openRelay|openTape|openWorkspace|openWorkspaceRelay|openedRelay|withRelay|new Tape)\(|\bworkspace\('/

/** Files of commands that may, with the reason for each. */
const allowed: Record<string, string> = {
  'base/workspace.ts':
    'opens the workspace whose operations commands call; `init` makes one; serve and watch get their relay here',
  'chat/print.ts': 'chat -p is an agent of its own, which writes its tape as it talks',
  'chat/start.ts': 'chat is an agent of its own, which writes its tape as it talks',
  'connect/mcp.ts': 'mcp is a door itself: it serves the operations',
  'demo/demo.ts': 'demo works in a workspace that it makes and removes',
  'handoff/eval.ts': 'eval measures in a store that it makes and removes',
  'relay/serve.ts': 'relay serve is a worker for as long as it runs',
  'relay/watch.ts': 'relay watch maintains the relay for as long as it runs',
  'store.ts': 'store copy has two stores',
  'supervise/background.ts': 'supervises in its own process',
  'supervise/control.ts': 'stop supervises a session that nobody supervises, to end it',
  'supervise/run.ts': 'run and resume supervise in their own process; supervised.run starts this very command',
  'supervise/setup.ts': 'deliver sends alerts that a supervisor left',
  'supervise/watch.ts': 'watch supervises every workspace of the machine',
  'tape/show.ts': 'show blob:… prints bytes, which no operation carries',
  'tape/tape.ts': 'tape import reads lines without end, for which an operation has no room',
  'up/up.ts': 'up is a door itself: it serves the operations',
}

const files = fs
  .readdirSync(path.join(root, 'cli'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))

test('no command opens a store but by operations, except the few that are listed [D2]', () => {
  const opening = files.filter((file) => opener.test(fs.readFileSync(path.join(root, 'cli', file), 'utf8')))
  expect(opening.sort()).toEqual(Object.keys(allowed).sort())
})

test('the command lines of all commands are known without loading an operation [D2]', () => {
  const seen = new Set<string>()
  const visit = (file: string) => {
    if (seen.has(file)) return
    seen.add(file)
    const text = fs.readFileSync(file, 'utf8')
    for (const [, from] of text.matchAll(/^(?:import|export) (?!type )[^;]*?from '(\.[^']+\.ts)'/gms))
      visit(path.resolve(path.dirname(file), from!))
  }
  visit(path.join(root, 'cli/program.ts'))
  visit(path.join(root, 'cli/connect/hook.ts'))
  const loaded = [...seen].map((file) => path.relative(root, file))
  expect(loaded.length).toBeGreaterThan(20)
  expect(loaded.filter((file) => file.startsWith('operations/'))).toEqual([])
})
