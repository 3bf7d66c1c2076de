// Paths as sessions write them, compared as text: the session may have run on another machine, so no disk is asked.

/** Joins and tidies: `.` and `..` are resolved, `\` becomes `/` in a Windows path. `''` is the session's folder. */
export function joinPath(base: string, path: string): string {
  if (path.startsWith('file://')) path = path.slice(7)
  if (path.startsWith('/') || path.startsWith('~')) return tidy(path)
  if (path[1] === ':' || path.startsWith('\\\\')) {
    if (/^[A-Za-z]:[\\/]|^\\\\/.test(path)) return tidy(path.replaceAll('\\', '/'))
  }
  return tidy(base === '' ? path : `${base}/${path}`)
}

export function isAbsolute(path: string): boolean {
  return path.startsWith('/') || path.startsWith('~') || /^[A-Za-z]:\//.test(path)
}

/** The path below `folder`, or as it was when it lies elsewhere. */
export function below(folder: string | undefined, path: string): string {
  if (!folder || !isAbsolute(path)) return path
  if (path === folder) return ''
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function tidy(path: string): string {
  if (!path.startsWith('.') && !path.includes('/.') && !path.includes('//') && !path.endsWith('/')) return path
  const root = path.startsWith('/') ? '/' : ''
  const kept: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part === '..' && kept.length > 0 && kept.at(-1) !== '..') kept.pop()
    else if (part !== '..' || root === '') kept.push(part)
  }
  return root + kept.join('/')
}

/** The names of files in a sentence, with the folders in front of them. */
export function namedFiles(text: string): string[] {
  return text.match(/[\w-][\w.-]*(?:\/[\w.-]+)*\.[A-Za-z]\w{0,4}(?![\w/])/g) ?? []
}
