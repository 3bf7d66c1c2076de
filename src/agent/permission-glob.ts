// Globs over absolute paths: `*` and `?` within a name, `**` across folders, `[ab]`, `{a,b}`. Our own, since Node has one only
// from 22 on, and a rule about permissions must match the same paths everywhere.

const special = /[\\^$.|+()[\]{}*?]/

export function globToRegExp(glob: string): RegExp {
  let source = ''
  let braces = 0
  for (let at = 0; at < glob.length; at += 1) {
    const char = glob[at]!
    if (glob.startsWith('/**', at) && (at + 3 === glob.length || glob[at + 3] === '/')) {
      // `a/**` is the folder and all below it; `a/**/b` also `a/b`.
      source += '(?:/[^/]+)*'
      at += 2
    } else if (glob.startsWith('**/', at) && at === 0) {
      source += '(?:[^/]+/)*'
      at += 2
    } else if (char === '*') {
      const across = glob[at + 1] === '*'
      source += across ? '.*' : '[^/]*'
      if (across) at += 1
    } else if (char === '?') source += '[^/]'
    else if (char === '[' && glob.indexOf(']', at + 2) > 0) {
      const end = glob.indexOf(']', at + 2)
      const inner = glob
        .slice(at + 1, end)
        .replace(/^!/, '^')
        .replaceAll('\\', '\\\\')
        .replaceAll('[', '\\[')
      source += `(?!/)[${inner}]`
      at = end
    } else if (char === '{' && glob.indexOf('}', at) > 0) {
      source += '(?:'
      braces += 1
    } else if (char === '}' && braces > 0) {
      source += ')'
      braces -= 1
    } else if (char === ',' && braces > 0) source += '|'
    else source += special.test(char) ? `\\${char}` : char
  }
  // Braces that were never closed mean themselves.
  return new RegExp(`^${braces > 0 ? escapeGlob(glob) : source}$`, 'su')
}

function escapeGlob(text: string): string {
  return text.replaceAll(/[\\^$.|+()[\]{}*?]/g, String.raw`\$&`)
}

/** A path as a glob that matches only it. */
export function literalGlob(file: string): string {
  return file.replaceAll(/[*?[{]/g, '[$&]')
}
