// The two profiles as data: which sections there are, what they are called, and what else people and models call them.

import type { Profile, SectionKey } from './document.ts'

export interface SectionRule {
  readonly key: SectionKey
  readonly title: string
  /** Heading it stands under, one level up. */
  readonly under?: string
  readonly required: boolean
  /** "None" is an answer here. */
  readonly mayBeNone: boolean
}

const progress = 'Progress'

const session: readonly SectionRule[] = [
  { key: 'status', title: 'Status', required: false, mayBeNone: false },
  { key: 'goal', title: 'Goal', required: true, mayBeNone: false },
  { key: 'constraints', title: 'Constraints & Preferences', required: true, mayBeNone: true },
  { key: 'done', title: 'Done', under: progress, required: true, mayBeNone: true },
  { key: 'doing', title: 'In Progress', under: progress, required: true, mayBeNone: true },
  { key: 'pending', title: 'Pending', under: progress, required: true, mayBeNone: true },
  { key: 'decisions', title: 'Key Decisions', required: true, mayBeNone: true },
  { key: 'context', title: 'Critical Context', required: true, mayBeNone: true },
  { key: 'next', title: 'Next Steps', required: true, mayBeNone: false },
  { key: 'blockers', title: 'Blockers', required: false, mayBeNone: true },
  { key: 'failures', title: 'Open Failures', required: false, mayBeNone: true },
  { key: 'files', title: 'Files', required: false, mayBeNone: true },
  { key: 'notes', title: 'Notes', required: false, mayBeNone: true },
]

const cycle: readonly SectionRule[] = [
  { key: 'status', title: 'Status', required: false, mayBeNone: false },
  { key: 'goal', title: 'Goal', required: false, mayBeNone: false },
  { key: 'doing', title: 'Current Work', required: true, mayBeNone: false },
  { key: 'done', title: 'Completed Since Last Handoff', required: true, mayBeNone: true },
  { key: 'next', title: 'Next Steps', required: true, mayBeNone: false },
  { key: 'pending', title: 'Pending', required: false, mayBeNone: true },
  { key: 'constraints', title: 'Constraints', required: false, mayBeNone: true },
  { key: 'context', title: 'Critical State', required: true, mayBeNone: true },
  { key: 'decisions', title: 'Key Decisions', required: false, mayBeNone: true },
  { key: 'blockers', title: 'Blockers / Issues', required: true, mayBeNone: true },
  { key: 'failures', title: 'Open Failures', required: false, mayBeNone: true },
  { key: 'files', title: 'Files', required: false, mayBeNone: true },
  { key: 'notes', title: 'Notes', required: true, mayBeNone: true },
]

export const profiles: Readonly<Record<Profile, readonly SectionRule[]>> = { session, cycle }

export function ruleOf(profile: Profile, key: SectionKey): SectionRule {
  return profiles[profile].find((rule) => rule.key === key)!
}

/** The headings that a document of the profile must have, as lines of Markdown. */
export function headingsOf(profile: Profile): string[] {
  const required = profiles[profile].filter((rule) => rule.required)
  return required.flatMap(({ title, under }, at) => {
    if (under === undefined) return [`## ${title}`]
    return required[at - 1]?.under === under ? [`### ${title}`] : [`## ${under}`, `### ${title}`]
  })
}

/** Names of a section, after `plainTitle`. */
const names = {
  status: 'status, how the work stands, current status, standing',
  goal: 'primary request and intent, primary request, overall goal, goal, goals, objective, objectives, purpose, aim, mission, overview, goal and scope, user goal',
  constraints: `constraints and preferences, constraints, preferences, user preferences, requirements, rules, instructions,
    user constraints, user instructions, ground rules, active constraints`,
  done: `done, completed since last handoff, completed, completed work, work completed, finished, accomplished,
    accomplishments, done so far, completed tasks, what was done, recent actions`,
  doing: `in progress, current work, current task, active, active work, ongoing, work in progress, wip, current focus,
    currently working on, underway`,
  pending:
    'pending tasks, current plan, pending, todo, todos, to do, remaining, remaining work, open tasks, not started, backlog',
  decisions: 'key decisions, decisions, decisions made, design decisions, choices, decision log, rationale',
  context: `critical context, critical state, context, state, important context, key context, current state,
    key technical concepts, key knowledge, key learnings, important details, environment, technical context, background`,
  next: 'optional next step, next steps, next step, next, next actions, next move, next moves, action items, what next',
  blockers: `blockers issues, blockers, blocker, blocked, issues, blockers and issues, open issues, known issues, risks,
    open questions, questions`,
  failures: 'open failures, failures, failing tests, unresolved failures, errors, open errors',
  files: `files, relevant files, changed files, files changed, modified files, files modified, key files, files touched,
    file changes, files and code sections, file system state, artifact trail`,
  notes: 'notes, note, additional notes, misc, miscellaneous, other, remarks, additional context',
} satisfies Record<SectionKey, string>

/** Headings that only hold others. */
const umbrellas: ReadonlySet<string> = new Set(['progress', 'work state', 'progress so far'])

const byTitle: ReadonlyMap<string, SectionKey> = new Map(
  (Object.keys(names) as SectionKey[]).flatMap((key) =>
    names[key].split(',').map((name): [string, SectionKey] => [name.trim(), key]),
  ),
)

/** What a heading stands for, however it is written: `3. **Next steps:**`, `BLOCKERS / ISSUES`, `✅ Done`. */
export function readTitle(title: string): SectionKey | 'umbrella' | undefined {
  const plain = plainTitle(title)
  return umbrellas.has(plain) ? 'umbrella' : byTitle.get(plain)
}

function plainTitle(title: string): string {
  return title
    .toLowerCase()
    .replace(/\([^)]*\)/g, ' ')
    .replace(/&/g, ' and ')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .replace(/^(?:\d+|[ivx]+|[a-z])\s+(?=\p{L})/u, '')
}
