// What a small program in the command line does to files: `python3 - <<'EOF'`, `python -c`, `node -e`. Agents edit files that
// way. Only paths that are written out are told, and only where the program plainly writes to them.

import type { Effect } from '../files/effect.ts'

/** `p = Path('a.ts')`, `name = "a.ts"`, `const file = 'a.ts'`. */
const namedPath =
  /(?:^|[\n;])[ \t]{0,40}(?:const |let |var )?(\w+)[ \t]{0,40}=[ \t]{0,40}(?:(?:pathlib\.)?Path\()?["'`]([^"'`\n$]{1,300})["'`]/g
/** A path as a text, or by the name that it was given. */
const pathPattern = String.raw`(?:(?:pathlib\.)?Path\(\s*)?(?:["'\`]([^"'\`\n$]{1,300})["'\`]|(?<![.\w])(\w+))\s*\)?`
const writePatterns: readonly RegExp[] = [
  new RegExp(String.raw`\bopen\(\s*${pathPattern}\s*,\s*(?:mode\s*=\s*)?["'][wax]`, 'g'),
  new RegExp(String.raw`${pathPattern}\.(?:write_text|write_bytes|open\(\s*["'][wax])`, 'g'),
  new RegExp(String.raw`\b(?:writeFileSync|writeFile|appendFileSync|Bun\.write)\(\s*${pathPattern}\s*,`, 'g'),
]
const readPatterns: readonly RegExp[] = [
  new RegExp(String.raw`\bopen\(\s*${pathPattern}\s*(?:[.)]|,\s*(?:encoding|["']r))`, 'g'),
  new RegExp(String.raw`${pathPattern}\.read_(?:text|bytes)\(`, 'g'),
  new RegExp(String.raw`\breadFile(?:Sync)?\(\s*${pathPattern}`, 'g'),
]
const removePatterns: readonly RegExp[] = [
  new RegExp(String.raw`\b(?:os\.(?:remove|unlink)|unlinkSync|rmSync)\(\s*${pathPattern}`, 'g'),
  new RegExp(String.raw`${pathPattern}\.unlink\(`, 'g'),
]
/** A cheap test that comes first: most programs only print. */
const fileHint = /write|open\(|remove|unlink|rmSync/

const longest = 50_000

export function scriptEffects(script: string): Effect[] {
  const text = script.length > longest ? script.slice(0, longest) : script
  if (!fileHint.test(text)) return []
  const names = new Map<string, string>()
  for (const [, name = '', path = ''] of text.matchAll(namedPath)) names.set(name, path)
  const found = (patterns: readonly RegExp[]) => {
    const paths = new Set<string>()
    for (const pattern of patterns) {
      for (const [, written, name = ''] of text.matchAll(pattern)) {
        const path = written ?? names.get(name)
        if (path !== undefined && isPath(path)) paths.add(path)
      }
    }
    return paths
  }
  const read = found(readPatterns)
  return [
    ...[...found(writePatterns)].map((path): Effect => ({ action: read.has(path) ? 'edit' : 'write', path })),
    ...[...found(removePatterns)].map((path): Effect => ({ action: 'delete', path })),
  ]
}

/** The name of a file, not a sentence or a pattern. */
function isPath(text: string): boolean {
  return /^[^\s*?{}<>|%]+$/.test(text) && /[./]/.test(text) && !/^(?:https?:|\/dev\/)|\/$/.test(text)
}
