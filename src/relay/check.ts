// Checks the relay's configuration as a whole. The schema has checked each field; these rules check what the fields mean
// together: the routes make sense for the agents, a person can be reached, and the limits fit the time there is.

import { human, handoffSchemaVersion } from './schema.ts'
import type { RelaySettings } from './settings.ts'

const waivable = ['routes', 'forbidden', 'recovery', 'coverage', 'latency'] as const
type Waivable = (typeof waivable)[number]

export interface CheckResult {
  readonly rule: Waivable | 'version' | 'topology' | 'human' | 'limits'
  /** What the rule looked at, as a sentence. */
  readonly found: string
  readonly problems: readonly string[]
  /** Worth knowing, though nothing is wrong. */
  readonly notes: readonly string[]
  /** The reason that the configuration gives for breaking the rule. */
  readonly waived?: string | undefined
}

type Rule = (settings: RelaySettings) => { found: string; problems?: string[]; notes?: string[] }

const least = { routes: 4, forbidden: 2, recovery: 3 }

const rules: Record<CheckResult['rule'], Rule> = {
  version: ({ schemaVersion: given }) => ({
    found: `the agents speak version ${given}`,
    problems: !semver.test(given)
      ? [`schemaVersion "${given}" is not a semantic version such as ${handoffSchemaVersion}`]
      : given === handoffSchemaVersion
        ? []
        : [`schemaVersion is ${given}, but this Baton speaks ${handoffSchemaVersion}`],
  }),
  routes: ({ routes }) => atLeast('routes', distinct(routes.map(path)), 'allowed routes'),
  forbidden: ({ forbidden }) => atLeast('forbidden', distinct(forbidden.map(path)), 'forbidden routes'),
  recovery: ({ recovery }) =>
    atLeast('recovery', distinct(recovery.map(({ strategy }) => strategy)), 'recovery strategies'),
  coverage,
  topology,
  human: humanPath,
  limits,
  latency,
}

export function checkRelay(settings: RelaySettings): CheckResult[] {
  return Object.entries(rules).map(([name, rule]) => {
    const { found, problems = [], notes = [] } = rule(settings)
    const waived = waivable.some((each) => each === name) ? settings.waive[name as Waivable] : undefined
    const idle = waived !== undefined && problems.length === 0 ? ['it is waived, though nothing is wrong'] : []
    return { rule: name as CheckResult['rule'], found, problems, notes: [...notes, ...idle], waived }
  })
}

/** True when the rule found problems that the configuration does not waive. */
export function isFailed({ problems, waived }: Pick<CheckResult, 'problems' | 'waived'>): boolean {
  return problems.length > 0 && waived === undefined
}

const semver = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[\da-z.-]+)?(\+[\da-z.-]+)?$/i

function atLeast(rule: keyof typeof least, count: number, what: string) {
  const found = `${count} ${what}`
  return { found, problems: count >= least[rule] ? [] : [`${found}, where at least ${least[rule]} are expected`] }
}

function coverage({ agents, routes, forbidden }: RelaySettings) {
  const names = Object.keys(agents)
  const alone = names.filter((name) => !routes.some(({ from, to }) => from === name || to === name))
  const decided = new Set([...routes, ...forbidden].map(path))
  const pairs = names.flatMap((from) => names.filter((to) => to !== from).map((to) => path({ from, to })))
  const open = pairs.filter((pair) => !decided.has(pair))
  return {
    found: `${names.length} agents, each with a route`,
    problems: [
      ...(names.length === 0 ? ['agents names none'] : []),
      ...alone.map((name) => `no route leads from or to ${name}`),
    ],
    notes:
      open.length === 0
        ? []
        : [`neither allowed nor forbidden, and so refused: ${listed(open)} (${open.length} of ${pairs.length} pairs)`],
  }
}

function topology({ agents, routes, forbidden, recovery, roles }: RelaySettings) {
  const isKnown = (name: string) => name === human || Object.hasOwn(agents, name)
  const named = [
    ...routes.flatMap(({ from, to }, i) => [[`routes[${i}].from`, from] as const, [`routes[${i}].to`, to] as const]),
    ...forbidden.flatMap(({ from, to }, i) => [
      [`forbidden[${i}].from`, from] as const,
      [`forbidden[${i}].to`, to] as const,
    ]),
    ...recovery.flatMap((each, i) =>
      each.strategy === 'retry_different_target'
        ? [
            [`recovery[${i}].target`, each.target] as const,
            ...(each.from ?? []).map((name, n) => [`recovery[${i}].from[${n}]`, name] as const),
          ]
        : [],
    ),
  ]
  const selves = [...routes, ...forbidden].filter(({ from, to }) => from === to)
  // The default names need not be agents: only `assess` turns to them.
  const given = Object.entries(roles).filter(([role, name]) => !isKnown(name) && name !== usualRoles[role])
  const usual = Object.entries(roles).filter(([role, name]) => !isKnown(name) && name === usualRoles[role])
  return {
    found: 'every name is an agent of the topology',
    problems: [
      ...named
        .filter(([, name]) => !isKnown(name))
        .map(([where, name]) => `${where} is "${name}", which is not an agent`),
      ...selves.map(({ from }) => `${from} is to hand over to itself`),
      ...given.map(([role, name]) => `roles.${role} is "${name}", which is not an agent`),
    ],
    notes: usual.map(([role, name]) => `there is no agent "${name}" for assess() to turn to (roles.${role})`),
  }
}

const usualRoles: Record<string, string> = { research: 'researcher', orchestrator: 'orchestrator' }

/** Strategies are tried in order, and skipping applies to everything that is not critical, so nothing after it is reached. */
function humanPath({ recovery, criticalInputs }: RelaySettings) {
  const names = recovery.map(({ strategy }) => strategy)
  const skip = names.indexOf('skip_and_continue')
  const before = skip === -1 ? recovery : recovery.slice(0, skip)
  const reaches = skip === -1 || criticalInputs.length > 0 || before.some((each) => isToPerson(each))
  return {
    found: 'a handoff that fails can come to a person',
    problems: reaches
      ? []
      : ['skip_and_continue comes before anything that asks a person, so that a failed handoff never reaches one'],
  }
}

function isToPerson(each: RelaySettings['recovery'][number]): boolean {
  return each.strategy === 'escalate' || (each.strategy === 'retry_different_target' && each.target === human)
}

function limits({ limits, leaseMs, agents }: RelaySettings) {
  const { maxHandoffsPerItem: perItem, maxHandoffsPerPipeline: perPipeline, handoffTimeoutMs } = limits
  const long = Object.entries(agents).filter(([, agent]) => (agent.leaseMs ?? leaseMs) >= handoffTimeoutMs)
  const never = `maxHandoffsPerItem (${perItem}) is more than maxHandoffsPerPipeline (${perPipeline}), so it is never reached`
  const late = `leases as long as handoffTimeoutMs (${handoffTimeoutMs} ms): when a worker of ${listed(long.map(([name]) => name))} dies, its request fails before another can take it`
  return {
    found: `${perItem} handoffs per item, ${perPipeline} per pipeline`,
    problems: perItem > perPipeline ? [never] : [],
    notes: long.length > 0 ? [late] : [],
  }
}

function latency({ limits: { handoffTimeoutMs, maxHandoffsPerPipeline }, latencyBudgetMs }: RelaySettings) {
  const longest = handoffTimeoutMs * maxHandoffsPerPipeline
  const worst = `${maxHandoffsPerPipeline} handoffs of ${handoffTimeoutMs} ms take up to ${longest} ms`
  if (latencyBudgetMs === undefined) {
    return {
      found: worst,
      problems: [`latencyBudgetMs is not set, so nothing says whether this is too long: ${worst}`],
    }
  }
  return {
    found: `${worst}, of a budget of ${latencyBudgetMs} ms`,
    problems: longest <= latencyBudgetMs ? [] : [`${worst}, more than latencyBudgetMs (${latencyBudgetMs} ms)`],
  }
}

function path({ from, to }: { from: string; to: string }): string {
  return `${from} → ${to}`
}

function distinct(names: readonly string[]): number {
  return new Set(names).size
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, 6).join(', ')
  return names.length > 6 ? `${shown}, …` : shown
}
