// The handoff documents of the workspace, newest first.

import { useState } from 'react'
import { PageFrame, Panel } from '../../parts/page.tsx'
import { useOperation } from '../../data/queries.ts'
import { useTitles, writerText } from '../../data/titles.ts'
import { Badge } from '../../parts/badge.tsx'
import { Icon } from '../../parts/icon.tsx'
import { bytesText, countText } from '../../parts/numbers.ts'
import { Answer, Empty, ListEnd } from '../../parts/states.tsx'
import { Text } from '../../parts/text.tsx'
import { Ago } from '../../parts/time.tsx'
import { documentAddress, Link, setQuery, tapeAddress, usePlace } from '../../shell/router.tsx'
import { useShortcut } from '../../shell/shortcuts.tsx'
import { WriteDialog } from './write.tsx'
import './handoffs.css'

const mostSearched = 1000
const mostShown = 200

const open = () => setQuery({ write: 'newest' })

export default function Handoffs() {
  const write = usePlace().query.get('write')
  const titleOf = useTitles()
  const [text, setText] = useState('')
  const documents = useOperation('documentList', { limit: mostSearched })
  useShortcut('w', 'Write a handoff document', open)
  return (
    <PageFrame
      title="Handoffs"
      about="The documents that the next agent or person starts from."
      actions={
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
      }
      className="handoffs"
    >
      <Panel>
        <Answer query={documents}>
          {({ documents, damaged }) => {
            const found = documents.filter(({ tape, goal = '' }) =>
              `${tape} ${goal}`.toLowerCase().includes(text.toLowerCase()),
            )
            return (
              <>
                {damaged.map((tape) => (
                  <p key={tape} className="handoffs-damaged small" role="alert">
                    Not every document of{' '}
                    <Link to={tapeAddress(tape)}>
                      <Text max={80}>{tape}</Text>
                    </Link>{' '}
                    is listed: the tape is damaged.
                  </p>
                ))}
                {found.length === 0 ? (
                  <Empty icon="handoffs" title={documents.length === 0 ? 'No handoff yet' : 'No such document'}>
                    A document is written when a supervised context is full, when a connected agent compacts, or now.
                  </Empty>
                ) : (
                  <ul className="rows">
                    {found.slice(0, mostShown).map(({ tape, id, date, goal, profile, writer, bytes }) => (
                      <li key={`${tape}#${id}`}>
                        <Link to={documentAddress(tape, id)} className="row-link handoffs-row">
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
                          <Text className="small muted handoffs-writer" max={40}>
                            {writerText(writer)}
                          </Text>
                          <span className="small faint number handoffs-bytes">{bytesText(bytes)}</span>
                          <Ago date={date} className="small faint handoffs-date" />
                        </Link>
                      </li>
                    ))}
                  </ul>
                )}
                {found.length > mostShown && (
                  <ListEnd>
                    The newest {mostShown} of {countText(found.length)}. Find shows others.
                  </ListEnd>
                )}
                {documents.length === mostSearched && (
                  <ListEnd>Only the newest {countText(mostSearched)} documents are looked through here.</ListEnd>
                )}
              </>
            )
          }}
        </Answer>
      </Panel>
      {write !== null && (
        <WriteDialog tape={write === 'newest' ? undefined : write} onClose={() => setQuery({ write: undefined })} />
      )}
    </PageFrame>
  )
}
