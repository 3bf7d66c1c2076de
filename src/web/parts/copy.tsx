// Commands that a person may want to run: shown whole, copied with one press.

import { Fragment, useState } from 'react'
import { Icon } from './icon.tsx'

/** A word of a command: names come from others, and what is copied is run. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-][\w@%+=:,./#-]*$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

export function Command({ children }: { children: string }) {
  return (
    <span className="command">
      <code>
        {children.split(' ').map((word, at) => (
          // Lines end between words, not behind the hyphens of an option.
          <Fragment key={at}>
            {at > 0 && ' '}
            <span className="command-word">{word}</span>
          </Fragment>
        ))}
      </code>
      <CopyButton text={children} label="Copy the command" />
    </span>
  )
}

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [done, setDone] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setDone(true)
    window.setTimeout(() => setDone(false), 1_500)
  }
  return (
    <button
      type="button"
      className="icon-button"
      aria-label={done ? 'Copied' : label}
      title={label}
      onClick={() => void copy()}
    >
      <Icon name={done ? 'check' : 'copy'} />
    </button>
  )
}
