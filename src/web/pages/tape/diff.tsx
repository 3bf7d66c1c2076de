// Changes of files in the arguments of a call, as lines taken away and lines added.

import { Text } from '../../parts/text.tsx'

interface Change {
  readonly path: string
  readonly removed: readonly string[]
  readonly added: readonly string[]
}

/** Lines of a change that are drawn. */
const most = 12

/** The changes in a call of an agent's edit tool: `old_string` and `new_string`, `oldText` and `newText`, several of them in `edits`, or a patch. */
export function changesIn(input: unknown): readonly Change[] {
  if (typeof input === 'string') return patchIn(input)
  if (typeof input !== 'object' || input === null) return []
  const fields = input as Record<string, unknown>
  const path = String(fields['file_path'] ?? fields['path'] ?? fields['filePath'] ?? '')
  if (Array.isArray(fields['edits']))
    return fields['edits'].slice(0, 5).flatMap((edit: unknown) => changeIn({ ...(edit as object) }, path))
  const own = changeIn(fields, path)
  if (own.length > 0) return own
  const patch = fields['patch'] ?? fields['input'] ?? fields['patchText']
  if (typeof patch === 'string') return patchIn(patch)
  const written = fields['content']
  if (path !== '' && typeof written === 'string') return [{ path, removed: [], added: linesOf(written) }]
  return []
}

function changeIn(fields: Record<string, unknown>, path: string): Change[] {
  const before = fields['old_string'] ?? fields['oldText'] ?? fields['oldString']
  const after = fields['new_string'] ?? fields['newText'] ?? fields['newString']
  if (typeof before !== 'string' || typeof after !== 'string') return []
  return [{ path, removed: linesOf(before), added: linesOf(after) }]
}

function patchIn(text: string): Change[] {
  if (!text.startsWith('*** Begin Patch') && !text.startsWith('--- ')) return []
  const lines = text.slice(0, 20_000).split('\n')
  const path = /^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ (?:b\/)?)(.+)$/m.exec(text.slice(0, 20_000))?.[1] ?? ''
  const removed = lines.filter((line) => /^-(?!--)/.test(line)).map((line) => line.slice(1))
  const added = lines.filter((line) => /^\+(?!\+\+)/.test(line)).map((line) => line.slice(1))
  return [{ path, removed, added }]
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.slice(0, 20_000).split('\n')
}

export function DiffView({ changes }: { changes: readonly Change[] }) {
  return (
    <div className="diff">
      {changes.map(({ path, removed, added }, at) => (
        <div key={at}>
          <p className="diff-path mono tiny">
            <Text max={200}>{path}</Text> <span className="diff-plus">+{added.length}</span>{' '}
            <span className="diff-minus">−{removed.length}</span>
          </p>
          <pre className="diff-lines">
            {removed.slice(0, most).map((line, n) => (
              <Line key={`-${n}`} sign="−" text={line} />
            ))}
            {added.slice(0, most).map((line, n) => (
              <Line key={`+${n}`} sign="+" text={line} />
            ))}
            {removed.length + added.length > 2 * most && <span className="faint">… unfold the call for the rest</span>}
          </pre>
        </div>
      ))}
    </div>
  )
}

function Line({ sign, text }: { sign: '+' | '−'; text: string }) {
  return (
    <span className={sign === '+' ? 'diff-line diff-added' : 'diff-line diff-removed'}>
      {sign} <Text max={300}>{text}</Text>
    </span>
  )
}
