// One question of an agent: what it knows, what is missing, and a field of the right type for each missing input.

import { type FormEvent, useRef, useState } from 'react'
import { type AnswerOf, problemText, queryClient, useAction, useOperation } from '../../data/queries.ts'
import { Badge, Priority } from '../../parts/badge.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { Answer } from '../../parts/states.tsx'
import { Text, TextBlock } from '../../parts/text.tsx'
import { Clock } from '../../parts/time.tsx'
import { notify } from '../../shell/notices.tsx'
import { useShortcut } from '../../shell/shortcuts.tsx'

type Asked = AnswerOf<'escalationShow'>
type Missing = Asked['missing'][number]

export function Question({ id }: { id: string }) {
  const question = useOperation('escalationShow', { id })
  return (
    <Answer query={question}>
      {(asked) => (
        <div className="panel-body inbox-question">
          <header>
            <p className="row wrap muted small">
              <Priority>{asked.priority}</Priority>
              <span>
                <Text>{asked.from}</Text> asks, <Clock date={asked.askedAt} />
              </span>
              <span className="mono faint">{asked.id}</span>
              <CopyButton text={asked.id} label="Copy the id" />
            </p>
            <h2>
              <Text>{asked.reasonDetail === '' ? asked.summary : asked.reasonDetail}</Text>
            </h2>
          </header>
          {asked.reasonDetail !== '' && asked.summary !== asked.reasonDetail && <TextBlock>{asked.summary}</TextBlock>}
          {asked.answer === undefined ? <AnswerForm asked={asked} /> : <Given answer={asked.answer} />}
          {asked.recommendations.length > 0 && (
            <details>
              <summary>Suggestions</summary>
              <ul className="inbox-advice">
                {asked.recommendations.map((advice) => (
                  <li key={advice}>
                    <Text>{advice}</Text>
                  </li>
                ))}
              </ul>
            </details>
          )}
          <details>
            <summary>The whole request</summary>
            <TextBlock mono>{JSON.stringify(asked.request, null, 2)}</TextBlock>
          </details>
        </div>
      )}
    </Answer>
  )
}

function Given({ answer: { by, at, response } }: { answer: NonNullable<Asked['answer']> }) {
  const { status, providedInputs, failureReason, recommendations } = response
  const remarks = [failureReason, recommendations].flat().filter((remark) => typeof remark === 'string')
  return (
    <div className="inbox-given">
      <p className="row wrap">
        <Badge tone={status === 'failed' ? 'bad' : 'live'}>{status === 'failed' ? 'declined' : 'answered'}</Badge>
        <span>
          by <Text>{by}</Text>, <Clock date={at} />
        </span>
      </p>
      {Object.entries(providedInputs ?? {}).map(([key, value]) => (
        <div key={key}>
          <Text className="mono small muted">{key}</Text>
          <TextBlock>{typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</TextBlock>
        </div>
      ))}
      {remarks.map((remark) => (
        <TextBlock key={remark}>{remark}</TextBlock>
      ))}
    </div>
  )
}

/** A decision has no inputs but the yes or no itself. */
const isDecision = ({ reason, missing }: Asked) =>
  reason === 'requires_human_decision' && missing.every(({ key }) => key === 'approved')

function AnswerForm({ asked }: { asked: Asked }) {
  const [texts, setTexts] = useState<Record<string, string>>({})
  const [remark, setRemark] = useState('')
  const [wrong, setWrong] = useState<string>()
  const refresh = () => {
    void queryClient.invalidateQueries({ queryKey: ['escalationShow', { id: asked.id }] })
    void queryClient.invalidateQueries({ queryKey: ['waitingList'] })
    void queryClient.invalidateQueries({ queryKey: ['escalationList'] })
  }
  const answer = useAction('escalationAnswer', {
    onDone: () => {
      notify('Answered. The agent continues.')
      refresh()
    },
    onError: (error) => {
      const { what, hint } = problemText(error)
      setWrong(hint === undefined ? what : `${what}. ${hint}`)
      refresh()
    },
  })
  const reason = remark.trim() === '' ? {} : { reason: remark }
  const decide = (approved: boolean) => answer.mutate({ id: asked.id, inputs: { approved }, ...reason })
  const decision = isDecision(asked)
  const send = (event: FormEvent) => {
    event.preventDefault()
    if (decision) return
    try {
      const inputs = Object.fromEntries(
        asked.missing.map((field) => [field.key, parsed(field, texts[field.key] ?? '')]),
      )
      setWrong(undefined)
      answer.mutate({ id: asked.id, inputs, ...reason })
    } catch (error) {
      setWrong((error as Error).message)
    }
  }
  const form = useRef<HTMLFormElement>(null)
  useShortcut('e', 'Answer', () => form.current?.querySelector<HTMLElement>('.input')?.focus())
  useShortcut('mod+enter', 'Send the answer', () => form.current?.requestSubmit())
  return (
    <form ref={form} className="inbox-form" onSubmit={send}>
      {!decision &&
        asked.missing.map((field) => (
          <Field
            key={field.key}
            field={field}
            text={texts[field.key] ?? ''}
            onText={(text) => setTexts({ ...texts, [field.key]: text })}
          />
        ))}
      <label className="field">
        <span>Remark for the agent (optional)</span>
        <textarea className="input" rows={2} value={remark} onChange={({ target }) => setRemark(target.value)} />
      </label>
      {wrong !== undefined && (
        <p className="inbox-wrong" role="alert">
          <Text>{wrong}</Text>
        </p>
      )}
      <p className="row wrap">
        {decision ? (
          <>
            <button
              type="button"
              className="button button-main"
              disabled={answer.isPending}
              onClick={() => decide(true)}
            >
              Approve
            </button>
            <button
              type="button"
              className="button button-bad"
              disabled={answer.isPending}
              onClick={() => decide(false)}
            >
              Reject
            </button>
          </>
        ) : (
          <button type="submit" className="button button-main" disabled={answer.isPending}>
            Send the answer
          </button>
        )}
        <button
          type="button"
          className="button"
          disabled={answer.isPending}
          onClick={() =>
            answer.mutate({ id: asked.id, status: 'failed', reason: remark.trim() || 'A person cannot help here' })
          }
        >
          I cannot help
        </button>
      </p>
    </form>
  )
}

interface FieldProps {
  readonly field: Missing
  readonly text: string
  readonly onText: (text: string) => void
}

function Field({ field, text, onText }: FieldProps) {
  const { key, expectedType, description } = field
  const label = (
    <span className="row">
      <strong className="mono inbox-key">
        <Text max={100}>{key}</Text>
      </strong>
      <span className="grow">
        <Text>{description}</Text>
      </span>
      <Text className="faint tiny mono" max={60}>
        {expectedType}
      </Text>
    </span>
  )
  if (expectedType === 'boolean') {
    return (
      <label className="field">
        {label}
        <select className="input" required value={text} onChange={({ target }) => onText(target.value)}>
          <option value="">Choose</option>
          <option value="true">Yes</option>
          <option value="false">No</option>
        </select>
      </label>
    )
  }
  const kinds: Record<string, string> = { number: 'number', integer: 'number', date: 'date' }
  if (expectedType in kinds) {
    const step = expectedType === 'integer' ? 1 : 'any'
    return (
      <label className="field">
        {label}
        <input
          className="input"
          required
          type={kinds[expectedType]}
          step={step}
          value={text}
          onChange={({ target }) => onText(target.value)}
        />
      </label>
    )
  }
  return (
    <label className="field">
      {label}
      <textarea
        className="input"
        required
        rows={expectedType === 'string' ? 2 : 4}
        placeholder={expectedType === 'string' ? undefined : 'JSON, or plain text'}
        value={text}
        onChange={({ target }) => onText(target.value)}
      />
    </label>
  )
}

/** What a person typed, as the type that the agent expects. */
function parsed({ key, expectedType }: Missing, text: string): unknown {
  if (expectedType === 'boolean') return text === 'true'
  if (expectedType === 'number' || expectedType === 'integer') return Number(text)
  if (expectedType === 'string' || expectedType === 'date') return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    if (expectedType === 'object' || expectedType === 'array' || expectedType.endsWith('[]'))
      throw new Error(`${key} has to be JSON: ${expectedType}`)
    return text
  }
}
