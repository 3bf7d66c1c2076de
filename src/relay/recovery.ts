// Chooses what to do when a handoff failed or was answered only in part: the first strategy of the policy that applies. When
// none applies, a person is asked, because continuing as if nothing had happened would be worst.

import type { ExpectedTypes } from './request/expected-type.ts'
import { closedRoute } from './request/routes.ts'
import { type HandoffRequest, type HandoffResponse, human } from './schema.ts'
import type { Json } from '../store/index.ts'
import type { RelaySettings } from './settings.ts'

export type RecoveryAction =
  | { readonly action: 'retry_different_target'; readonly newTarget: string; readonly reason: string }
  | { readonly action: 'proceed_partial'; readonly reason: string }
  | { readonly action: 'skip_and_continue'; readonly reason: string }
  | {
      readonly action: 'fallback_default'
      readonly defaults: Readonly<Record<string, Json>>
      readonly reason: string
    }
  | { readonly action: 'escalate'; readonly escalationType: 'human_input_required'; readonly reason: string }

/** How often, and after how long, a failure on the way to a target is tried again before it counts as an answer. */
export function sameTargetRetry({ recovery }: RelaySettings): { times: number; backoffMs: number } {
  return recovery.find((each) => each.strategy === 'retry_same_target') ?? usualRetry
}

const usualRetry = { times: 2, backoffMs: 500 }

export interface HandoffFailure {
  readonly request: HandoffRequest
  readonly response: HandoffResponse
  /** The agents that were asked for this before and could not help. */
  readonly tried: readonly string[]
  /** The relay refused the request: that says nothing about what is missing, so nothing is skipped because of it. */
  readonly isRefused?: boolean
}

export function chooseRecovery(
  settings: RelaySettings,
  types: ExpectedTypes,
  { request, response, tried, isRefused = false }: HandoffFailure,
): RecoveryAction {
  const unresolved = unresolvedOf(request, response)
  const critical = unresolved.filter((key) => settings.criticalInputs.includes(key))
  const asked = request.handoffTo
  for (const policy of settings.recovery) {
    switch (policy.strategy) {
      case 'retry_same_target': // the worker has done that, before the answer counted
        break
      case 'retry_different_target': {
        const { target, from } = policy
        const isMeant = response.status === 'failed' && (from === undefined || from.includes(asked))
        const isNew = target !== request.sourceAgent && target !== asked && !tried.includes(target)
        if (!isMeant || !isNew || closedRoute(settings, request.sourceAgent, target) !== undefined) break
        return { action: policy.strategy, newTarget: target, reason: `${asked} failed: ${why(response)}` }
      }
      case 'proceed_partial':
        if (response.status !== 'partial' || critical.length > 0 || isRefused) break
        return { action: policy.strategy, reason: `Nothing critical is missing: ${unresolved.join(', ') || 'nothing'}` }
      case 'skip_and_continue':
        if (critical.length > 0 || isRefused) break
        return { action: policy.strategy, reason: `${asked} could not help (${why(response)}), and it is optional` }
      case 'fallback_default': {
        const { defaults } = policy
        if (unresolved.length === 0 || !unresolved.every((key) => hasDefault(types, request, defaults, key))) break
        const used = Object.fromEntries(unresolved.map((key) => [key, defaults[key]!]))
        return { action: policy.strategy, defaults: used, reason: `Defaults stand in for ${unresolved.join(', ')}` }
      }
      case 'escalate':
        return escalate(asked === human ? why(response) : `${asked} could not help: ${why(response)}`)
    }
  }
  return escalate(
    critical.length > 0
      ? `Nothing continues without ${critical.join(', ')}`
      : `No strategy applies to what ${asked} answered: ${why(response)}`,
  )
}

function escalate(reason: string): RecoveryAction {
  return { action: 'escalate', escalationType: 'human_input_required', reason }
}

/** What is still missing after a response. */
function unresolvedOf(request: HandoffRequest, response: HandoffResponse): string[] {
  const asked = (request.missingInputs ?? []).map(({ key }) => key)
  const provided = response.providedInputs ?? {}
  return [...new Set([...(response.unresolved ?? []), ...asked.filter((key) => !Object.hasOwn(provided, key))])]
}

function hasDefault(
  types: ExpectedTypes,
  { missingInputs = [] }: HandoffRequest,
  defaults: Readonly<Record<string, Json>>,
  key: string,
): boolean {
  if (!Object.hasOwn(defaults, key)) return false
  const input = missingInputs.find((one) => one.key === key)
  return input === undefined || types.get(input.expectedType, key).safeParse(defaults[key]).success
}

function why({ failureReason, status }: HandoffResponse): string {
  return failureReason ?? status
}
