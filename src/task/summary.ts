// The two texts that go into an agent's context: the summary for the agent that takes over, and the context summary in the state.
// Both are bounded in real tokens for every state, and the same state always gives the same text.

import { type CountTokens, tokenCounter, wholeCharacter } from '../tape/index.ts'
import { artifactTypes, type TaskDecision, type TaskIssue, severities, type TaskState } from './schema.ts'

const summaryTokens = 500
const contextTokens = 500
const contextChars = 2_000
const recentDecisions = 5
const truncated = '[truncated]'
/** A path that takes more tokens than this is shown by its end only. */
const pathTokens = 250

/** At most 500 tokens, with the path of the state file at the end. */
export async function summarise(state: TaskState, stateFile: string): Promise<string> {
  const file = (await fits(stateFile, pathTokens)) ? stateFile : `…${stateFile.slice(stateFile.lastIndexOf('/state/'))}`
  for (let chars = 160; ; chars = Math.floor(chars / 2)) {
    const text = renderSummary(state, file, chars)
    if (chars === 0 || (await fits(text, summaryTokens))) return text
  }
}

function renderSummary(state: TaskState, file: string, chars: number): string {
  const passed = state.quality_gates_passed.length
  const failed = state.quality_gates_failed.length
  return [
    '## Agent Handoff State',
    `Task: ${state.task_id} - ${cut(state.task_title, chars)}`,
    `Phase: ${state.phase} (from: ${state.previous_phase ?? 'start'})`,
    `Artifacts: ${artifactsLine(state)}`,
    `Decisions: ${decisionsLine(state.decisions_made, chars)}`,
    `Blocking: ${blockingLine(state.blocking_issues, chars)}`,
    `Gates: ${passed} passed, ${failed} failed`,
    `State file: ${file}`,
  ].join('\n')
}

function artifactsLine({ artifacts }: TaskState): string {
  const files = `${artifacts.length} ${artifacts.length === 1 ? 'file' : 'files'}`
  const present = new Set<string>()
  let last = ''
  for (const { artifact_type } of artifacts) {
    // Neighbours mostly have the same type, which saves a look-up.
    if (artifact_type !== last) present.add((last = artifact_type))
  }
  const types = artifactTypes.filter((type) => present.has(type))
  return types.length === 0 ? files : `${files} (${types.join(', ')})`
}

function decisionsLine(decisions: readonly TaskDecision[], chars: number): string {
  if (decisions.length === 0) return 'None'
  const last = decisions.slice(-2).map(({ decision }) => cut(decision, chars))
  const more = decisions.length - last.length
  return `${last.join('; ')}${more > 0 ? ` (and ${more} before)` : ''}`
}

function blockingLine(issues: readonly TaskIssue[], chars: number): string {
  if (issues.length === 0) return 'None'
  const counts = severities
    .map((severity) => ({ severity, count: issues.filter((each) => each.severity === severity).length }))
    .filter(({ count }) => count > 0)
    .map(({ severity, count }) => (severity === 'blocker' ? `${count} blocker(s)` : `${count} ${severity}`))
  const rank = ({ severity }: TaskIssue) => severities.indexOf(severity)
  const worst = issues.reduce((a, b) => (rank(b) < rank(a) ? b : a))
  const human = issues.filter((each) => each.requires_human && each.approved_by === undefined).length
  return `${counts.join(', ')}: ${cut(worst.issue, chars)}${human > 0 ? ` (${human} for a person to decide)` : ''}`
}

/** The last five decisions within 2,000 characters and 500 tokens; marked when something was cut. */
export async function compressContext(state: TaskState): Promise<string> {
  for (let chars = 200; ; chars = Math.floor(chars / 2)) {
    const text = renderContext(state, chars)
    if (chars === 0 || (text.length <= contextChars && (await fits(text, contextTokens)))) return text
  }
}

function renderContext(state: TaskState, chars: number): string {
  const recent = state.decisions_made.slice(-recentDecisions)
  let isCut = false
  const part = (text: string, most: number) => {
    const short = cut(text, most)
    isCut ||= short.endsWith('…') && short !== flat(text)
    return short
  }
  const lines = [
    `Task: ${part(state.task_title, chars)}`,
    `Current phase: ${state.phase}`,
    `Total artifacts: ${state.artifacts.length}`,
  ]
  if (recent.length > 0) lines.push('Recent decisions:')
  for (const each of recent)
    lines.push(`- ${part(each.decision, chars)}: ${part(each.rationale, Math.min(chars, 100))}`)
  if (isCut) lines.push(truncated)
  return lines.join('\n')
}

/** An agent's own words, within the same bounds. */
export async function limitContext(text: string): Promise<string> {
  if (text.length <= contextChars && (await fits(text, contextTokens))) return text
  for (let chars = contextChars - truncated.length - 1; ; chars = Math.floor(chars * 0.8)) {
    const short = `${atWord(text, chars)}\n${truncated}`
    if (chars === 0 || (await fits(short, contextTokens))) return short
  }
}

/** One line of a text, cut at a word. */
function cut(text: string, chars: number): string {
  const line = flat(text)
  return line.length <= chars ? line : `${atWord(line, Math.max(0, chars - 1))}…`
}

/** On one line, so that no text can start a line of its own in the summary. */
function flat(text: string): string {
  return text.replaceAll(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
}

function atWord(text: string, chars: number): string {
  const head = text.slice(0, Math.max(0, wholeCharacter(text, chars)))
  if (/^\s/.test(text.slice(head.length))) return head.trimEnd()
  const space = head.search(/\s\S*$/)
  return (space > chars / 2 ? head.slice(0, space) : head).trimEnd()
}

/** A token is at least a byte, so a short text fits without a tokenizer, which takes longer to load than a handoff. */
async function fits(text: string, tokens: number): Promise<boolean> {
  if (Buffer.byteLength(text) <= tokens) return true
  counter ??= await tokenCounter()
  return counter(text) <= tokens
}

let counter: CountTokens | undefined
