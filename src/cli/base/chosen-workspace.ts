// Which workspace a command is about. It is apart from workspace.ts because that loads the store, and lists must start fast.

import fs from 'node:fs'
import path from 'node:path'
import { demandTrust, findWorkspace } from '../../config/index.ts'
import type { Globals } from './output.ts'

/** Refuses to act on what came with a project that the user does not trust; `what` is what was not done. */
export function demandTrustedProject(what: string, { store, workspace, io }: Globals): void {
  const { by } = findWorkspace({ store, workspace, cwd: io.cwd(), env: io.env })
  // A workspace that was named is the user's choice; the configuration is still the project's.
  demandTrust(what, io.cwd(), io.env, { workspace: by === 'folder' })
}

/** The address is absolute: the folder of the command need not be that of the process. */
export function chosenWorkspace({ store, workspace, io }: Globals) {
  const cwd = io.cwd()
  const found = findWorkspace({ store, workspace, cwd, env: io.env })
  // What the user does here would be sent to a server that the project names.
  if (found.by === 'config') demandTrust('The store of this project was not opened', cwd, io.env, { workspace: false })
  const file = /^(file:(?!\/\/))?(?![a-z][a-z+]*:)(.+)$/.exec(found.address)
  return file === null ? found : { ...found, address: (file[1] ?? '') + path.resolve(cwd, file[2]!) }
}

/** Whether that is a workspace on files which nobody has made yet: what only looks does not make it. */
export function isMissingFolder(address: string): boolean {
  const folder = address.replace(/^file:(\/\/)?/, '')
  return path.isAbsolute(folder) && !fs.existsSync(folder)
}
