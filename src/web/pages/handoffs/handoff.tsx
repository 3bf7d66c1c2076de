// The page of a handoff document: its text, the documents before it, whether the tape confirms it, and how to continue from it.

import { useMemo, useState } from 'react'
import { Panel } from '../../parts/page.tsx'
import { type AnswerOf, useOperation } from '../../data/queries.ts'
import { writerText } from '../../data/titles.ts'
import { Badge } from '../../parts/badge.tsx'
import { Command, CopyButton, shellWord } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Icon } from '../../parts/icon.tsx'
import { countText } from '../../parts/numbers.ts'
import { Answer, ListEnd } from '../../parts/states.tsx'
import { Text } from '../../parts/text.tsx'
import { Ago } from '../../parts/time.tsx'
import { useCommands } from '../../shell/palette.tsx'
import type { PageProps } from '../../shell/pages.ts'
import { documentAddress, Link, setQuery, tapeAddress, usePlace } from '../../shell/router.tsx'
import { DocumentDiff, DocumentText, sectionTitle } from './document.tsx'
import './handoffs.css'

type Items = AnswerOf<'documentItems'>
type Listed = AnswerOf<'documentList'>['documents'][number]

export default function Handoff({ fields: { tape = '', id: idText = '' } }: PageProps) {
  const id = Number(idText)
  const items = useOperation('documentItems', { tape, id })
  const against = usePlace().query.get('against')
  return (
    <div className="page handoff">
      <Answer query={items}>
        {(found) => (
          <>
            <Head tape={tape} id={id} found={found} />
            <div className="handoff-columns">
              {against === null ? (
                <DocumentText found={found} />
              ) : (
                <DocumentDiff tape={tape} from={Number(against)} to={id} />
              )}
              <aside className="handoff-side">
                <Chain tape={tape} id={id} />
                {/* That of a cycle is about the tape of the agent, not about the one that keeps it. */}
                {!tape.startsWith('session/') && <Check tape={tape} id={id} />}
              </aside>
            </div>
          </>
        )}
      </Answer>
    </div>
  )
}

function Head({ tape, id, found: { document, header, sections } }: { tape: string; id: number; found: Items }) {
  const { markdown } = useOperation('documentShow', { tape, id }).data ?? {}
  const [continuing, setContinuing] = useState(false)
  const all = sections.flatMap((section) => section.items)
  const verified = all.filter(({ status }) => status === 'verified').length
  const usage = header['contextUsage']
  useCommands(
    useMemo(() => [{ label: 'Continue in another agent', icon: 'play' as const, run: () => setContinuing(true) }], []),
  )
  return (
    <header className="page-head handoff-head">
      <div className="grow">
        <p className="label">
          {document.profile === 'cycle' ? 'Cycle' : 'Handoff'} of{' '}
          <Link to={tapeAddress(tape, id)} className="mono handoff-tape">
            <Text max={120}>{tape}</Text>
          </Link>
        </p>
        <h1>
          <Text max={110}>{document.goal ?? firstLine(sections) ?? 'Handoff document'}</Text>
        </h1>
        <p className="row wrap small muted">
          <Ago date={document.date} />
          <span>
            <Text max={60}>{writerText(document.writer)}</Text>
          </span>
          {typeof usage === 'number' && <span className="number">context {Math.round(usage)}% full</span>}
          <Badge tone="live">{countText(verified)} verified</Badge>
          {all.length > verified && <Badge>{countText(all.length - verified)} claimed</Badge>}
        </p>
      </div>
      <div className="row">
        {markdown !== undefined && <CopyButton text={markdown} label="Copy the document as Markdown" />}
        <button type="button" className="button button-baton" onClick={() => setContinuing(true)}>
          Continue in…
        </button>
      </div>
      {continuing && (
        <ContinueDialog
          about={String(header['tape'] ?? tape)}
          tape={tape}
          id={id}
          onClose={() => setContinuing(false)}
        />
      )}
    </header>
  )
}

function firstLine(sections: Items['sections']): string | undefined {
  const goal = sections.find(({ key }) => key === 'goal') ?? sections.find(({ key }) => key === 'doing')
  return goal?.items[0]?.text.split('\n')[0]
}

/** More than fit into the panel. */
const mostInChain = 50

/** The documents of the same tape, and those of the tapes that it came from. */
function Chain({ tape, id }: { tape: string; id: number }) {
  const against = usePlace().query.get('against')
  const all = useOperation('documentList', { tape, lineage: true, limit: 1000 }).data?.documents ?? []
  const edges = useOperation('lineageShow', { tape }).data?.edges ?? []
  const own = all.filter((each) => each.tape === tape)
  // The one that is open is in sight, however many came after it.
  const from = Math.max(0, own.findIndex((each) => each.id === id) + 1 - mostInChain)
  const shown = own.slice(from, from + mostInChain)
  return (
    <Panel
      title="Chain"
      aside={
        against !== null && (
          <button type="button" className="button" onClick={() => setQuery({ against: undefined })}>
            End the comparison
          </button>
        )
      }
    >
      <ol className="chain">
        {shown.map((each) => (
          <li key={each.id} className={each.id === id ? 'chain-hop chain-here' : 'chain-hop'}>
            <Link
              to={documentAddress(tape, each.id)}
              className="grow"
              aria-current={each.id === id ? 'page' : undefined}
            >
              <span className="number">#{each.id}</span> {each.profile}
            </Link>
            {each.id < id && (
              <button type="button" className="text-button" onClick={() => setQuery({ against: String(each.id) })}>
                Compare
              </button>
            )}
            <Ago date={each.date} className="faint tiny" />
          </li>
        ))}
        {hopsTo(tape, edges).map((hop) => {
          const { parent, how, anchor, date } = hop
          const document = documentBefore(hop, all)
          return (
            <li key={`${hop.child} ${parent} ${how} ${date}`} className="chain-hop chain-origin">
              <span className="grow chain-parent">
                <Link to={tapeAddress(parent)} className="cut" title={anchor}>
                  <span>
                    {how} of <Text max={60}>{parent}</Text>
                  </span>
                </Link>
                {document !== undefined && (
                  <Link to={documentAddress(parent, document.id)} className="small">
                    <span className="number">#{document.id}</span>{' '}
                    <Text max={80}>{document.goal ?? document.profile}</Text>{' '}
                    <Ago date={document.date} className="faint tiny" />
                  </Link>
                )}
              </span>
              <Ago date={date} className="faint tiny" />
            </li>
          )
        })}
      </ol>
      {own.length > shown.length && (
        <ListEnd>
          {countText(shown.length)} of {countText(own.length)} documents of this tape
        </ListEnd>
      )}
    </Panel>
  )
}

type Hop = AnswerOf<'lineageShow'>['edges'][number]

/** The hops that lead to a tape, the nearest first. */
function hopsTo(tape: string, edges: readonly Hop[]): Hop[] {
  const reached = [tape]
  const hops: Hop[] = []
  for (const each of reached) {
    for (const hop of edges) {
      if (hop.child !== each || hops.includes(hop)) continue
      hops.push(hop)
      if (!reached.includes(hop.parent)) reached.push(hop.parent)
    }
  }
  return hops
}

/** The document that the parent had when the hop was made. */
function documentBefore({ parent, date }: Hop, documents: readonly Listed[]): Listed | undefined {
  return documents.find((each) => each.tape === parent && Date.parse(each.date) <= Date.parse(date))
}

function Check({ tape, id }: { tape: string; id: number }) {
  const check = useOperation('documentCheck', { tape, id })
  return (
    <Panel title="Against the tape" label="Check" body="small">
      <Answer query={check} rows={2}>
        {({ valid, problems }) =>
          valid ? (
            <p className="row">
              <Icon name="check" /> Complete, and the tape confirms it.
            </p>
          ) : (
            <ul className="check-list">
              {problems.map(({ section, message }) => (
                <li key={`${section} ${message}`}>
                  <strong>{sectionTitle(section)}</strong> <Text>{message}</Text>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Panel>
  )
}

interface ContinueProps {
  /** The tape that the document speaks of. */
  readonly about: string
  readonly tape: string
  readonly id: number
  readonly onClose: () => void
}

function ContinueDialog({ about, tape, id, onClose }: ContinueProps) {
  const { agents = [] } = useOperation('workspaceInfo', {}).data ?? {}
  const [, agent = '', named] = /^([\w-]+):([\w.-]+)$/.exec(about) ?? []
  const session = agents.includes(agent) ? named : undefined
  return (
    <Dialog title="Continue in another agent" wide onClose={onClose}>
      {session === undefined ? (
        <p className="muted handoff-continue">
          This document is not about the session of one agent. Any agent can start from its text, under supervision:
        </p>
      ) : (
        <p className="muted handoff-continue">
          In the folder of the project. The agent opens with this work; the session it came from stays as it is.
        </p>
      )}
      <ul className="continue-list">
        {agents.map((agent) => (
          <li key={agent}>
            <span>{agent}</span>
            <Command>
              {session === undefined
                ? `baton handoff show ${shellWord(`${tape}#${id}`)} | baton run ${agent} --task - --detach`
                : `baton continue ${session} --in ${agent}`}
            </Command>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}
