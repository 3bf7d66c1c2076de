// The handoff documents of the workspace, newest first.

import { useState } from 'react'
import { useOperation } from '../../data/queries.ts'
import { useTitles, writerText } from '../../data/titles.ts'
import { Badge } from '../../parts/badge.tsx'
import { Icon } from '../../parts/icon.tsx'
import { bytesText } from '../../parts/numbers.ts'
import { Answer, Empty } from '../../parts/states.tsx'
import { Text } from '../../parts/text.tsx'
import { Ago } from '../../parts/time.tsx'
import { useCommands } from '../../shell/palette.tsx'
import { documentAddress, Link, setQuery, usePlace } from '../../shell/router.tsx'
import { useShortcut } from '../../shell/shortcuts.tsx'
import { WriteDialog } from './write.tsx'
import './handoffs.css'

const open = () => setQuery({ write: 'newest' })
const commands = [{ label: 'Write a handoff document', icon: 'handoffs' as const, run: open }]

export default function Handoffs() {
  const write = usePlace().query.get('write')
  const titleOf = useTitles()
  const [text, setText] = useState('')
  const documents = useOperation('documentList', { limit: 500 })
  useShortcut('w', 'Write a handoff document', open)
  useCommands(commands)
  return (
    <div className="page handoffs">
      <header className="page-head">
        <div>
          <h1>Handoffs</h1>
          <p className="small">The documents that the next agent or person starts from.</p>
        </div>
        <div className="row">
          <input
            className="input"
            type="search"
            placeholder="Find"
            aria-label="Find a document"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <button type="button" className="button button-main" onClick={open}>
            <Icon name="handoffs" />
            Write one
          </button>
        </div>
      </header>
      <section className="panel">
        <Answer query={documents}>
          {({ documents }) => {
            const found = documents.filter(({ tape, goal = '' }) =>
              `${tape} ${goal}`.toLowerCase().includes(text.toLowerCase()),
            )
            return found.length === 0 ? (
              <Empty icon="handoffs" title={documents.length === 0 ? 'No handoff yet' : 'No such document'}>
                A document is written when a supervised context is full, when a connected agent compacts, or now.
              </Empty>
            ) : (
              <ul className="handoffs-list">
                {found.slice(0, 200).map(({ tape, id, date, goal, profile, writer, bytes }) => (
                  <li key={`${tape}#${id}`}>
                    <Link to={documentAddress(tape, id)} className="handoffs-row">
                      <span className="grow">
                        <span className="cut handoffs-title">
                          <Text max={160}>
                            {goal ?? `${profile === 'cycle' ? 'Cycle' : 'Handoff'} of ${titleOf(tape)}`}
                          </Text>
                        </span>
                        <span className="cut tiny faint mono">
                          <Text max={120}>{`${tape}#${id}`}</Text>
                        </span>
                      </span>
                      <span className="handoffs-profile">
                        <Badge tone={profile === 'cycle' ? 'baton' : 'quiet'}>{profile}</Badge>
                      </span>
                      <span className="small muted handoffs-writer">
                        <Text max={40}>{writerText(writer)}</Text>
                      </span>
                      <span className="small faint number handoffs-bytes">{bytesText(bytes)}</span>
                      <span className="small faint handoffs-date">
                        <Ago date={date} />
                      </span>
                    </Link>
                  </li>
                ))}
              </ul>
            )
          }}
        </Answer>
      </section>
      {write !== null && (
        <WriteDialog tape={write === 'newest' ? undefined : write} onClose={() => setQuery({ write: undefined })} />
      )}
    </div>
  )
}
