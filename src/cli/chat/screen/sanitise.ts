// Text from models, tools and tapes, made harmless for a terminal: whoever writes it must not move the cursor, set the
// title, or hide what a person is asked about.

// oxlint-disable no-control-regex -- control characters are what this file is about

/** Complete control sequences (CSI, OSC, DCS and the like), or unfinished ones up to the end of their line. */
const sequences =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*(?:[@-~]|(?=[^ -~])|$)|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c|(?=\n)|$)|\x1b[ -/]*[0-~]/g
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g
/** Characters that change the direction of the text behind them, so that a line reads as something else. */
const turning = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
/** Characters that a terminal shows as nothing. */
const hidden = /[\u00ad\u200b-\u200d\u2060-\u2064\ufeff\u{e0000}-\u{e007f}]/gu

/** The text as it would look, without anything that controls a terminal. Of a line that was overwritten, the last state is kept. */
export function sanitise(text: string): string {
  return text
    .replaceAll(sequences, '')
    .replaceAll('\r\n', '\n')
    .replaceAll(/^.*\r(?=[^\n])/gm, '')
    .replaceAll('\t', '    ')
    .replaceAll(controls, '')
    .replaceAll(turning, '')
}

/** The text with every hidden character made visible, for what a person has to decide about. */
export function visible(text: string): string {
  return text
    .replaceAll(/[\x00-\x08\x0b-\x1f]/g, (character) => String.fromCodePoint(0x2400 + character.codePointAt(0)!))
    .replaceAll('\t', '    ')
    .replaceAll(/[\x7f-\x9f]/g, escaped)
    .replaceAll(turning, escaped)
    .replaceAll(hidden, escaped)
}

function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`
}
