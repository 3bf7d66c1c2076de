// Colours of the chat. Few, from the sixteen that every terminal's own palette defines, so that they suit it.

import type { EditorTheme, MarkdownTheme } from '@earendil-works/pi-tui'

type Paint = (text: string) => string

export interface Theme {
  readonly bold: Paint
  readonly dim: Paint
  readonly accent: Paint
  readonly good: Paint
  readonly bad: Paint
  readonly warn: Paint
  readonly markdown: MarkdownTheme
  readonly editor: EditorTheme
}

/** Without colours, weight and slant still distinguish things. */
export function themeOf(color: boolean): Theme {
  const tint = (code: number): Paint => (color ? style(code, 39) : (text) => text)
  const bold = style(1, 22)
  const dim = style(2, 22)
  const italic = style(3, 23)
  const underline = style(4, 24)
  const accent = tint(36)
  return {
    bold,
    dim,
    accent,
    good: tint(32),
    bad: tint(31),
    warn: tint(33),
    markdown: {
      heading: accent,
      link: accent,
      linkUrl: dim,
      code: tint(33),
      codeBlock: (text) => text,
      codeBlockBorder: dim,
      quote: dim,
      quoteBorder: dim,
      hr: dim,
      listBullet: accent,
      bold,
      italic,
      strikethrough: style(9, 29),
      underline,
    },
    editor: {
      borderColor: dim,
      selectList: { selectedPrefix: accent, selectedText: accent, description: dim, scrollInfo: dim, noMatch: dim },
    },
  }
}

function style(open: number, close: number): Paint {
  return (text) => (text === '' ? '' : `\x1b[${open}m${text}\x1b[${close}m`)
}
