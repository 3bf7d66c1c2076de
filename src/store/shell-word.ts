/** A word as it can be pasted into a POSIX shell; for the commands that messages and documents name. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./#-]+$/.test(word) && !word.startsWith('#') ? word : `'${word.replaceAll("'", "'\\''")}'`
}
