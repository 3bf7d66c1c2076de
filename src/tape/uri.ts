// References to places on a tape: `tape://…` for programs and for other workspaces, `main#123` and `main@phase/x` for
// people. Names are percent-encoded in the first, so that they may hold anything.

import { InvalidError } from '../errors.ts'

export type Place =
  | { readonly type: 'entry'; readonly id: number }
  | { readonly type: 'anchor'; readonly name: string }
  | { readonly type: 'range'; readonly from: number; readonly to: number | undefined }

export interface TapeUri {
  readonly workspace: string
  readonly tape: string
  readonly place: Exclude<Place, { type: 'range' }>
}

export function formatUri({ workspace, tape, place }: TapeUri): string {
  const target = place.type === 'entry' ? `entry/${place.id}` : `anchor/${encodeURIComponent(place.name)}`
  return `tape://${encodeURIComponent(workspace)}/${encodeURIComponent(tape)}/${target}`
}

export function parseUri(text: string): TapeUri {
  const match = /^tape:\/\/([^/]+)\/([^/]+)\/(entry|anchor)\/([^/]+)$/.exec(text)
  if (match === null) throw wrong(text)
  const [workspace, tape, name] = [match[1]!, match[2]!, match[4]!].map((part) => decode(part, text)) as [
    string,
    string,
    string,
  ]
  if (match[3] === 'anchor') return { workspace, tape, place: { type: 'anchor', name } }
  const id = Number(name)
  if (!/^\d+$/.test(name) || !Number.isSafeInteger(id) || id === 0) throw wrong(text)
  return { workspace, tape, place: { type: 'entry', id } }
}

function decode(part: string, text: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw wrong(text)
  }
}

function wrong(text: string): InvalidError {
  return new InvalidError(`"${text}" is not a tape reference`, {
    hint: 'It looks like tape://WORKSPACE/TAPE/entry/12 or tape://WORKSPACE/TAPE/anchor/NAME.',
  })
}

/** How a reference for people may be read: a tape's name may itself hold `#` or `@`, so there can be several ways. */
export function readings(text: string): { tape: string; place: Place }[] {
  const found: { tape: string; place: Place }[] = []
  const entry = /^(.+)#(\d+)(?:\.\.(\d*))?$/.exec(text)
  if (entry !== null) {
    const from = Number(entry[2])
    const to = entry[3] === '' ? undefined : Number(entry[3])
    const place: Place = entry[3] === undefined ? { type: 'entry', id: from } : { type: 'range', from, to }
    found.push({ tape: entry[1]!, place })
  }
  for (let at = text.indexOf('@', 1); at > 0 && at < text.length - 1; at = text.indexOf('@', at + 1)) {
    found.push({ tape: text.slice(0, at), place: { type: 'anchor', name: text.slice(at + 1) } })
  }
  return found
}
