import type { Observation } from '../eyes.ts'

/** Two observations with the same sign say the same, but for the time. */
export function signOf({ file, session, turn, changed, alive, dialog, turns, error }: Observation): string {
  return JSON.stringify([file?.path, session, turn, turns, changed, alive, dialog, error])
}
