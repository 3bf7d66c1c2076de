// What is loaded when it is first drawn. React's `lazy` leaves a placeholder on the screen for 300 ms once it was shown; what comes
// from the same machine is there much sooner.

import { type ComponentType, type ReactNode, useEffect } from 'react'
import { useValue, value } from '../data/store.ts'
import { Loading } from './states.tsx'

export interface Later<P extends object> {
  (props: P): ReactNode
  /** Loads it before it is drawn. */
  readonly load: () => void
}

/** `rows`: lines of the placeholder. */
export function later<P extends object>(
  from: () => Promise<{ readonly default: ComponentType<P> }>,
  rows = 6,
): Later<P> {
  const state = value<{ readonly view?: ComponentType<P>; readonly failure?: Error }>({})
  let isLoading = false
  const load = () => {
    if (isLoading) return
    isLoading = true
    from().then(
      ({ default: view }) => state.set({ view }),
      (error: unknown) => state.set({ failure: error instanceof Error ? error : new Error(String(error)) }),
    )
  }
  function View(props: P) {
    const { view: Loaded, failure } = useValue(state)
    useEffect(() => {
      load()
      // Whoever comes back tries again.
      return () => {
        if (state.get().failure === undefined) return
        isLoading = false
        state.set({})
      }
    }, [])
    if (failure !== undefined) throw failure
    return Loaded === undefined ? <Loading rows={rows} /> : <Loaded {...props} />
  }
  return Object.assign(View, { load })
}
