// The file a call is about: its name as the model gave it, and where that leads. Where it led when permission was asked is
// remembered with the input of the call, and only that place is opened: a link that is swapped meanwhile changes nothing.

import path from 'node:path'
import { absolutePath, isInside, realTarget } from '../permission-path.ts'
import type { Access, ToolContext } from '../tool.ts'

export interface Place {
  /** Absolute, links not followed. */
  readonly given: string
  /** Absolute, links followed. */
  readonly real: string
  /** For people and models: relative where it lies in the workspace. */
  readonly shown: string
}

const asked = new WeakMap<object, Place>()

export function placeOf(input: { path: string }, { cwd }: Pick<ToolContext, 'cwd'>): Place {
  const known = asked.get(input)
  if (known !== undefined) return known
  const given = absolutePath(cwd, input.path)
  const place = {
    given,
    real: realTarget(given),
    shown: isInside(cwd, given) ? path.relative(cwd, given) || '.' : given,
  }
  asked.set(input, place)
  return place
}

export function accessTo(kind: 'read' | 'write') {
  return (input: { path: string }, context: Pick<ToolContext, 'cwd'>): Access => {
    const { given, real } = placeOf(input, context)
    return { kind, paths: given === real ? [real] : [real, given] }
  }
}
