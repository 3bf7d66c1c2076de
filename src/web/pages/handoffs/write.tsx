// Writing a document now: what for, how long, by whom; with its progress, and a way to stop it.

import { type FormEvent, useRef, useState } from 'react'
import { call, problemText, queryClient, useOperation } from '../../data/queries.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Text } from '../../parts/text.tsx'
import { notify } from '../../shell/notices.tsx'
import { documentAddress, navigate } from '../../shell/router.tsx'

type State = { at: 'form'; problem?: string } | { at: 'work'; step: string }

export function WriteDialog({ tape, onClose }: { tape: string | undefined; onClose: () => void }) {
  const tapes = useOperation('tapeList', { limit: 1000 }).data?.tapes ?? []
  const [state, setState] = useState<State>({ at: 'form' })
  const [byModel, setByModel] = useState(false)
  const work = useRef<AbortController>(undefined)
  const close = () => {
    work.current?.abort()
    onClose()
  }
  const write = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const field = (name: string) => {
      const text = form.get(name)
      return typeof text === 'string' && text.trim() !== '' ? text.trim() : undefined
    }
    const [about, goal, budget, model] = [field('tape'), field('goal'), field('budget'), field('model')]
    const own = new AbortController()
    work.current = own
    setState({ at: 'work', step: 'Starting' })
    try {
      const { document } = await call('documentWrite')(
        {
          ...(about === undefined ? {} : { tape: about }),
          ...(goal === undefined ? {} : { goal }),
          ...(budget === undefined ? {} : { budget: Number(budget) }),
          ...(byModel ? { writer: 'model' as const } : {}),
          ...(byModel && model !== undefined ? { model } : {}),
        },
        { signal: own.signal, onProgress: (step) => setState({ at: 'work', step }) },
      )
      void queryClient.invalidateQueries({ queryKey: ['documentList'] })
      navigate(documentAddress(document.tape, document.id))
    } catch (error) {
      if (own.signal.aborted) notify('Cancelled: no document was written.')
      else {
        const { what, hint } = problemText(error)
        setState({ at: 'form', problem: hint === undefined ? what : `${what}. ${hint}` })
      }
    }
  }
  const isWorking = state.at === 'work'
  return (
    <Dialog title="Write a handoff document" onClose={close}>
      <form className="write-form" onSubmit={(event) => void write(event)}>
        <label className="field">
          <span>About</span>
          <select name="tape" className="input" defaultValue={tape ?? ''} disabled={isWorking}>
            <option value="">The newest session of this project</option>
            {tape !== undefined && !tapes.some((each) => each.tape === tape) && <option value={tape}>{tape}</option>}
            {tapes.map((each) => (
              <option key={each.tape} value={each.tape}>
                {each.tape}
              </option>
            ))}
          </select>
        </label>
        <label className="field">
          <span>What the next session is for</span>
          <textarea
            name="goal"
            className="input"
            rows={2}
            maxLength={2000}
            disabled={isWorking}
            placeholder="Finish the refunds"
          />
        </label>
        <div className="write-columns">
          <label className="field">
            <span>Length, in tokens</span>
            <input
              name="budget"
              type="number"
              className="input number"
              min={200}
              max={100_000}
              placeholder="2000"
              disabled={isWorking}
            />
          </label>
          <label className="field">
            <span>Written by</span>
            <select
              className="input"
              value={byModel ? 'model' : 'ledger'}
              disabled={isWorking}
              onChange={(event) => setByModel(event.target.value === 'model')}
            >
              <option value="ledger">The ledger: no key, no network</option>
              <option value="model">A model</option>
            </select>
          </label>
        </div>
        {byModel && (
          <label className="field">
            <span>Model</span>
            <input
              name="model"
              className="input mono"
              placeholder="provider/name, else BATON_MODEL"
              disabled={isWorking}
            />
          </label>
        )}
        {state.at === 'form' && state.problem !== undefined && (
          <p className="write-problem" role="alert">
            <Text>{state.problem}</Text>
          </p>
        )}
        <footer className="row write-actions">
          {isWorking && (
            <span className="grow small muted" role="status">
              <Text max={120}>{state.step}</Text>…
            </span>
          )}
          <button type="button" className="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" className="button button-main" disabled={isWorking}>
            Write
          </button>
        </footer>
      </form>
    </Dialog>
  )
}
