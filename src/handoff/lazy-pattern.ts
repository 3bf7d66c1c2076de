// Patterns that are made when they are first used. V8 takes up to a millisecond for classes of characters such as `\p{L}`, and
// most documents have no use for most of them.

/** The pattern is shared: with `g` or `y`, whoever uses it sets its `lastIndex` first, or matches with all of it. */
export function lazyPattern(source: string, flags = 'u'): () => RegExp {
  let made: RegExp | undefined
  return () => (made ??= new RegExp(source, flags))
}
