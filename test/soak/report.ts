// The report of a soak, as a page of the documentation.

import os from 'node:os'
import type { Course } from './course.ts'

export function report(
  courses: readonly Course[],
  ends: readonly string[],
  tests: readonly { passed: number; failed: number }[],
  minutes: number,
): string {
  const cycles = courses.flatMap((course) => course.cycles)
  const done = cycles.filter(({ outcome }) => outcome === 'done')
  const incidents = courses.flatMap((course) => course.incidents)
  // What a cycle waits for while something is repaired is not Baton's own time.
  const quiet = courses.flatMap(({ cycles, incidents }) =>
    cycles.filter(({ n }) => incidents.every(({ cycle }) => cycle !== n)),
  )
  const own = quiet.map(({ ownMs }) => ownMs / 1000).sort((a, b) => a - b)
  const rows = incidents.map(
    ({ agent, cycle, step, harm, seconds, lost }) =>
      `| ${harm} | ${agent} | ${cycle} | ${step} | ${(seconds / 60).toFixed(2)} | ${lost.length === 0 ? '0' : `${lost.length} (${lost.join(', ')})`} |`,
  )
  return `# Soak

\`npm run soak\`, ${new Date().toISOString().slice(0, 10)}, ${os.cpus().length} cores with a load of ${os.loadavg()[1]!.toFixed(0)}: ${done.length} cycles in ${minutes.toFixed(1)} minutes while things went wrong, most of
them with the scripted agent, the rest with a real Claude Code in front of a scripted model. The job can be finished only
with facts that were told before the first cycle or seen on the way; its tests know them by their hashes.

| agent | cycles | of them failed | documents by the ledger | job | facts kept |
| --- | --- | --- | --- | --- | --- |
${courses.map((course, i) => `| ${i === 0 ? 'scripted' : 'Claude Code'} | ${course.cycles.length} | ${course.cycles.filter(({ outcome }) => outcome !== 'done').length} | ${course.cycles.filter(({ by }) => by === 'ledger').length} | ${ends[i]} | ${tests[i]!.passed} of ${tests[i]!.passed + tests[i]!.failed} |`).join('\n')}

Baton's own part of a cycle in which nothing went wrong: ${quantile(own, 0.5)} s in the middle, ${quantile(own, 0.95)} s at the 95th percentile, ${quantile(own, 1)} s at most.

"Minutes lost" is the time from the event until the next module of the job was finished, so it holds the ordinary work on
that module too: about ${quantile(
    done.map(({ totalMs }) => totalMs / 60_000).sort((a, b) => a - b),
    0.5,
  )} minutes for a cycle and the turn behind it. A fact is lost when the next document lacks it.
\`running\` is the middle of a command, \`anywhere\` a moment that nobody chose. What a command prints after its agent was killed is in no
transcript, so the commands of this job print the same again when they are run again, and the agent is told that their outcome was
lost: no fact of a command that prints only once could be kept then. A supervisor killed while it types costs the twenty seconds (\`submitSeconds\`) in which its prompt may still arrive.

| event | agent | cycle | at | minutes lost | facts lost |
| --- | --- | --- | --- | --- | --- |
${rows.join('\n')}
`
}

function quantile(sorted: readonly number[], q: number): string {
  const value = sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]
  return value === undefined ? '?' : value.toFixed(2)
}
