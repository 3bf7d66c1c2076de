/** Whether a text is about one file: a wish for a single piece of work, more often than a rule for all of it. */
export function namesFile(text: string): boolean {
  return /[\w-]\/[\w./-]*\.\w{1,5}\b/.test(text)
}
