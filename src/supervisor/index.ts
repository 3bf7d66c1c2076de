// Keeps an agent running around the clock. `session/session-runner.ts` looks after one session; `cycle/cycle.ts` decides each step of
// a cycle; `observe/` reads what the agent does, `drivers/` types and starts, `documents/` has the handoff documents.

export { alertMs, Alerts, deliverAlerts } from './alerts.ts'
export { type Control, control, type ControlCommand } from './session/records/control.ts'
export { type Driver, type AgentPlace } from './drivers/driver.ts'
export { type Observer, type Observation } from './observe/observation.ts'
export { type AgentOpenerOptions, agentOpener, isProgram, needProgram } from './drivers/open-agent.ts'
export { type HealthCheck, healthChecks } from './session/records/health.ts'
export { watchPane } from './drivers/pane-watch.ts'
export {
  type LiveSettings,
  liveSettings,
  type Bounds,
  type SupervisorSettings,
  supervisorSection,
  boundsSchema,
  type Timings,
  timingsSchema,
} from './settings.ts'
export { AbandonedScan, freeName, holdWatch, paneOf, watchMachine } from './watcher.ts'
export { type SessionRow, sessionRows } from './session/records/session-row.ts'
export { type RunningAgent, runningAgents } from './drivers/running-agents.ts'
export { type Ended, type AgentHandle, type Notify, type OpenAgent, type Run, sessionTape, type Start } from './run.ts'
export { checkName, supervise, type SuperviseOptions, type SupervisorEvent } from './supervise.ts'
export { openSupervisor, type Supervision, type Supervisor, type SupervisorOptions } from './supervisor.ts'
