// Reads a document that a model, an agent or a person wrote: other heading levels, numbering, bold or underlined headings,
// other names for the sections. Nothing is dropped: a section that no profile knows becomes notes under its name.

import type { HandoffDocument, Header, Item, Profile, Section, SectionKey } from '../document.ts'
import { readTitle } from '../sections.ts'

interface CurrentSection {
  key: SectionKey
  /** Of the heading that opened the section. */
  level: number
  label: string
  /** Right under "Progress": a checkbox or a label tells which part an item is of. */
  umbrella: boolean
}

export function parseForeign(lines: readonly string[], wanted: Profile | undefined): HandoffDocument {
  const reader = new Reader(lines)
  reader.read()
  const profile = wanted ?? reader.guess()
  return { profile, header: reader.header, sections: reader.sections() }
}

interface Heading {
  readonly title: string
  readonly level: number
  /** Lines it takes. */
  readonly lines: number
  /** What follows the colon of `**Goal**: …`. */
  readonly content: string
}

class Reader {
  readonly header: { -readonly [K in keyof Header]: Header[K] } = {}
  readonly #lines: readonly string[]
  readonly #items = new Map<SectionKey, Item[]>()
  readonly #titles: string[] = []
  readonly #hasHeadings: boolean
  #section: CurrentSection | undefined

  constructor(lines: readonly string[]) {
    this.#lines = lines
    this.#hasHeadings = lines.some((line) => /^\s{0,3}#{1,6}\s/.test(line) && readTitle(line) !== undefined)
  }

  read(): void {
    for (let at = 0; at < this.#lines.length;) {
      const heading = this.#headingAt(at)
      if (heading !== undefined) {
        this.#open(heading)
        at += heading.lines
      } else at = this.#block(at)
    }
  }

  guess(): Profile {
    const cycle = /current work|since last handoff|critical state|blockers/i
    const session = /goal|constraints|preferences|progress|decisions|critical context/i
    const score = (pattern: RegExp) => this.#titles.filter((title) => pattern.test(title)).length
    return score(cycle) > score(session) ? 'cycle' : 'session'
  }

  sections(): Section[] {
    return [...this.#items].map(([key, items]) => ({ key, items }))
  }

  #headingAt(at: number): Heading | undefined {
    const line = this.#lines[at]!
    const marked = /^\s{0,3}(#{1,6})\s+(.+?)\s*#*\s*$/.exec(line)
    if (marked !== null) return { title: marked[2]!, level: marked[1]!.length, lines: 1, content: '' }
    const under = this.#lines[at + 1] ?? ''
    if (/^\s{0,3}(?:={3,}|-{3,})$/.test(under) && /^\S/.test(line) && !/^[-*+>#|]/.test(line)) {
      return { title: line, level: under.trim().startsWith('=') ? 1 : 2, lines: 2, content: '' }
    }
    const bold = /^\s{0,3}(?:\d+[.)]\s+)?(?:\*\*|__)(.+?)(?:\*\*|__)\s*(:?)\s*(.*)$/.exec(line)
    if (bold !== null) {
      const title = bold[1]!.replace(/:$/, '')
      const known = readTitle(title)
      if (bold[3] === '' && (known !== undefined || !/^\s{0,3}\d/.test(line))) {
        return { title, level: this.#hasHeadings ? 6 : 2, lines: 1, content: '' }
      }
      if (!this.#hasHeadings && known !== undefined && known !== 'umbrella') {
        return { title, level: 2, lines: 1, content: bold[3]! }
      }
      return undefined
    }
    const plain = /^\s{0,3}(?:\d+[.)]\s+)?([\p{L}&/ ]{3,40}):$/u.exec(line)
    if (plain !== null && readTitle(plain[1]!) !== undefined) {
      return { title: plain[1]!, level: this.#hasHeadings ? 6 : 2, lines: 1, content: '' }
    }
    return undefined
  }

  #open({ title, level, content }: Heading): void {
    const known = readTitle(title)
    if (known === undefined && level === 1 && this.#section === undefined) return
    this.#titles.push(title)
    const label = `${title.replace(/[*_:]+$|^[*_\s]+/g, '').trim()}: `
    if (known === 'umbrella') this.#section = { key: 'doing', level, label: '', umbrella: true }
    else if (known !== undefined) this.#section = { key: known, level, label: '', umbrella: false }
    // Below a section that is known, a heading is a part of it.
    else if (this.#section !== undefined && level > this.#section.level) this.#section = { ...this.#section, label }
    else this.#section = { key: 'notes', level, label, umbrella: false }
    if (this.#section !== undefined && !this.#items.has(this.#section.key) && !this.#section.umbrella) {
      this.#items.set(this.#section.key, [])
    }
    if (content !== '') this.#add({ text: content })
  }

  /** Reads one item and gives the line after it. */
  #block(at: number): number {
    const line = this.#lines[at]!
    if (line.trim() === '' || /^\s{0,3}(?:-{3,}|\*{3,}|_{3,})$/.test(line)) return at + 1
    if (this.#section === undefined && this.#headerField(line)) return at + 1
    const fence = /^\s*(`{3,}|~{3,})/.exec(line)?.[1]
    if (fence !== undefined) return this.#fenced(at, fence)
    const bullet = bulletAt(line)
    return bullet === undefined ? this.#paragraph(at) : this.#bullet(at, bullet)
  }

  #headerField(line: string): boolean {
    const match = /^\s*(?:[-*+]\s+)?\**([\p{L} ]{3,30}?)\**\s*:\s*\**\s*(.+?)\**\s*$/u.exec(line)
    const name = match?.[1]?.toLowerCase().trim()
    const value = match?.[2] ?? ''
    if (name === undefined) return false
    if (['created', 'date', 'created at', 'timestamp'].includes(name)) this.header.created = value
    else if (name === 'context usage' || name === 'context' || name === 'usage') {
      const percent = /(\d+(?:\.\d+)?)\s*%/.exec(value)
      if (percent !== null) this.header.contextUsage = Number(percent[1])
    } else if (name === 'project' || name === 'repository') this.header.project = value
    else if (name === 'tape') this.header.tape = value
    else if (name === 'anchor') this.header.anchor = value
    else return false
    return true
  }

  #fenced(at: number, fence: string): number {
    let end = at + 1
    while (end < this.#lines.length && !this.#lines[end]!.trim().startsWith(fence)) end++
    const data = this.#lines.slice(at + 1, end).join('\n')
    const items = this.#items.get(this.#section?.key ?? 'notes')
    const last = items?.at(-1)
    if (last !== undefined && last.data === undefined) items![items!.length - 1] = { ...last, data }
    else this.#add({ text: 'As written:', data })
    return end + 1
  }

  #bullet(at: number, { text, indent, checked }: Bullet): number {
    const title = /^(?:\*\*|__)?(.+?):?(?:\*\*|__)?:?$/.exec(text)?.[1]
    const part = this.#section?.umbrella && title !== undefined ? readTitle(title) : undefined
    if (part !== undefined && part !== 'umbrella') {
      // "- Done:" with its items below it.
      this.#section = { ...this.#section!, key: part }
      if (!this.#items.has(part)) this.#items.set(part, [])
      return at + 1
    }
    let end = at + 1
    const lines = [text]
    const more: { why?: string; ruledOut?: string } = {}
    for (; end < this.#lines.length; end++) {
      const line = this.#lines[end]!
      const nested = bulletAt(line)
      if (line.trim() === '' || /^\s*(?:`{3,}|~{3,})/.test(line) || this.#headingAt(end) !== undefined) break
      if ((nested?.indent ?? indent + 1) <= indent) break
      const reason =
        /^\s*(?:[-*+]\s+)?\**(why|reason|rationale|because|ruled out|rejected|alternatives)\**\s*:\**\s*(.+)$/i.exec(
          line,
        )
      if (reason === null) lines.push(line.trim())
      else if (/^(?:ruled|rej|alt)/i.test(reason[1]!)) more.ruledOut = reason[2]!
      else more.why = reason[2]!
    }
    this.#add({ text: lines.join('\n'), ...more, ...(checked !== undefined && { checked: checked === 'x' }) }, checked)
    return end
  }

  #paragraph(at: number): number {
    const lines: string[] = []
    let end = at
    for (; end < this.#lines.length; end++) {
      const line = this.#lines[end]!
      const labelled = /^\s*\*\*.+\*\*/.test(line)
      if (
        line.trim() === '' ||
        (end > at && (labelled || bulletAt(line) !== undefined || /^\s*(?:`{3,}|~{3,})/.test(line)))
      )
        break
      if (end > at && this.#headingAt(end) !== undefined) break
      lines.push(line.replace(/^\s*>\s?/, '').trim())
    }
    const text = lines.join('\n')
    if (this.#section !== undefined || text !== '') this.#add({ text })
    return end
  }

  #add(item: { text: string; data?: string; why?: string; ruledOut?: string; checked?: boolean }, box?: string): void {
    let key = this.#section?.key ?? 'notes'
    if (this.#section?.umbrella && box !== undefined) key = box === 'x' ? 'done' : box === '~' ? 'doing' : 'pending'
    const items = this.#items.get(key) ?? []
    items.push({ ...item, text: (this.#section?.label ?? '') + item.text, status: 'claimed', refs: [] })
    this.#items.set(key, items)
  }
}

interface Bullet {
  readonly text: string
  readonly indent: number
  readonly checked?: 'x' | ' ' | '~'
}

function bulletAt(line: string): Bullet | undefined {
  const match = /^(\s*)(?:[-*+•–]|\d+[.)])\s+(?:\[([ xX~/✓✔-])\]\s+)?(.*)$/u.exec(line)
  if (match === null || match[3] === '') return undefined
  const box = match[2]
  const checked = box === undefined ? undefined : box === ' ' ? ' ' : /[xX✓✔]/.test(box) ? 'x' : '~'
  return { text: match[3]!, indent: match[1]!.length, checked }
}
