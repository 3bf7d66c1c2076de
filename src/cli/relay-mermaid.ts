// The routes of a relay as a Mermaid diagram.

import type { RelaySettings } from '../relay/settings.ts'

export function mermaidOf({ agents, routes, forbidden }: RelaySettings): string {
  const names = [
    ...new Set([...Object.keys(agents), ...[...routes, ...forbidden].flatMap(({ from, to }) => [from, to])]),
  ]
  const node = (name: string) => (name === 'human' ? 'human' : `a${names.indexOf(name) + 1}`)
  return [
    'flowchart LR',
    ...names.filter((name) => name !== 'human').map((name) => `  ${node(name)}["${quoted(name)}"]`),
    '  human(["human"])',
    ...routes.map(({ from, to, reason }) => `  ${node(from)} -->|"${quoted(reason)}"| ${node(to)}`),
    ...forbidden.map(({ from, to, reason }) => `  ${node(from)} -.-x|"${quoted(reason)}"| ${node(to)}`),
    ...Object.keys(agents).map((name) => `  ${node(name)} -.-> human`),
  ].join('\n')
}

function quoted(text: string): string {
  return text.replaceAll('"', '#quot;').replaceAll(/\s+/g, ' ')
}
