// A machine on which nothing has happened yet: what Baton does, and one button that shows it.

import { useAction } from '../../data/queries.ts'
import { Command } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { notify, notifyProblem } from '../../shell/notices.tsx'

export function FirstRun() {
  const start = useAction('demoStart', {
    onDone: () => notify('The demo has started: its agent appears here.'),
    onError: notifyProblem,
  })
  return (
    <div className="page first-run">
      <h1>No agent has worked here yet</h1>
      <p className="muted">
        Baton finds the sessions of Claude Code, Codex, Gemini CLI, opencode and pi by itself: start one of them in any
        project and it appears here, with its context, its quota and its cost.
      </p>
      <div className="first-run-ways">
        <section className="panel first-run-way first-run-demo">
          <h2>See a handoff</h2>
          <p className="muted">
            A small agent with a scripted model fills its context, hands over to itself and finishes its job. It takes
            about a minute, needs no key, and nothing leaves this machine.
          </p>
          <button
            type="button"
            className="button button-baton"
            disabled={start.isPending || start.isSuccess}
            onClick={() => start.mutate({})}
          >
            <Icon name="play" />
            {start.isPending ? 'Starting…' : start.isSuccess ? 'Started' : 'Run the demo'}
          </button>
        </section>
        <section className="panel first-run-way">
          <h2>Keep an agent going</h2>
          <p className="muted">
            Start an agent under supervision: it hands over to itself whenever its context is full.
          </p>
          <Command>baton run claude --task job.md</Command>
        </section>
        <section className="panel first-run-way">
          <h2>Connect your agents</h2>
          <p className="muted">Hooks and tools for the agents that you work with yourself.</p>
          <Command>baton connect claude</Command>
        </section>
      </div>
    </div>
  )
}
