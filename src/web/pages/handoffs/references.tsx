// The entries behind a fact, as links to their place on the tape.

import { Link, tapeAddress } from '../../shell/router.tsx'

const shown = 3

export function References({ refs }: { refs: readonly string[] }) {
  return (
    <span className="references">
      {refs.slice(0, shown).map((ref) => {
        const [, tape, id, to] = /^(.+)#(\d+)(?:\.\.(\d+))?$/s.exec(ref) ?? []
        if (tape === undefined) return null
        return (
          <Link key={ref} to={tapeAddress(tape, Number(id))} className="reference number" title={ref}>
            #{id}
            {to !== undefined && `–${to}`}
          </Link>
        )
      })}
      {refs.length > shown && <span className="tiny faint">+{refs.length - shown}</span>}
    </span>
  )
}
