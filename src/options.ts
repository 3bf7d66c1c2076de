// The options of public functions. TypeScript refuses one that does not exist; in JavaScript nothing would notice, and the function
// would do something else than it was asked for.

import { InvalidError } from './errors.ts'

/** The name of every option: a name that the type lacks, or that is missing here, does not compile. */
export type OptionNames<O extends object> = { readonly [Name in keyof Required<O>]: true }

/** Throws when an option has no such name. `of` is the function as its caller writes it. */
export function checkOptions<O extends object>(of: string, options: O | undefined, names: OptionNames<O>): void {
  if (options === undefined) return
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new InvalidError(`The options of ${of} must be an object`, {
      hint: `Known are ${Object.keys(names).join(', ')}.`,
    })
  }
  // What is undefined asks for nothing, and what an object inherits is mostly what its class can do.
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || Object.hasOwn(names, name)) continue
    throw new InvalidError(`${of} has no option "${name}"`, {
      path: name,
      hint: `Leave it out. Known are ${Object.keys(names).join(', ')}.`,
    })
  }
}
