// Text as it may be shown: what a terminal or a reader would take for a command of its own is gone.

/** CSI, OSC and two-character escape sequences, with their 8-bit forms. An OSC may be long, but is one line. */
const escapes =
  // oxlint-disable-next-line no-control-regex
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]PX^_]|[\u009d\u0090])[^\u0007\u001b\u009c\n]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]?/g
/** Control characters but for tab and newline; marks that reorder text; half characters. */
const controls =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g
const halves = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

/** Without escape sequences, control characters and trailing blanks; lines end in `\n`. */
export function clean(text: string): string {
  const shown = text
    .replace(/\r\n?|[\u2028\u2029\u0085]/g, '\n')
    .replace(escapes, '')
    .replace(controls, '')
    .replace(halves, '\ufffd')
  return withoutTrailing(shown).replace(/^\n+/, '').trimEnd()
}

/** Line by line: an expression would take quadratic time for long runs of blanks. */
function withoutTrailing(text: string): string {
  if (!/[^\S\n]\n/.test(text)) return text
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
}
