// Where the session works: its folder, branch and commit, wherever an importer, a session's start or git's own output
// put them. Paths of facts are relative to that folder.

import type { Effect } from './effect.ts'
import type { GitFact } from '../facts.ts'
import { below, isAbsolute, joinPath } from './paths.ts'
import { isFields } from '../tools/tool-calls.ts'

export class WorkingFolder {
  folder: string | undefined
  /** Where the agent stands now, by its own account; `''`: in the session's folder. */
  here: string | undefined
  #git: { branch?: string; commit?: string; base?: string; id?: number } = {}

  constructor(cwd: string | undefined) {
    if (cwd !== undefined) this.folder = joinPath('', cwd)
  }

  read(fields: Readonly<Record<string, unknown>>, id: number): void {
    const { cwd } = fields
    if (typeof cwd === 'string' && cwd !== '' && this.folder === undefined) {
      this.folder = joinPath('', cwd)
      this.#git.id = id
    }
    const git = isFields(fields['git']) ? fields['git'] : fields
    const branch = git['branch'] ?? git['gitBranch'] ?? git['git_branch']
    if (typeof branch === 'string' && branch !== '' && branch !== this.#git.branch) this.switched(branch, id)
    const commit = git['commit'] ?? git['commit_hash'] ?? git['head']
    if (typeof commit === 'string' && commit !== this.#git.commit && /^[0-9a-f]{7,64}$/.test(commit)) {
      // The first that is named is where the session began.
      this.#git.base ??= commit
      this.committed(commit, id)
    }
  }

  /** The agent went to another folder: the next calls start there, while the project stays where it is. */
  moved(cwd: string): void {
    this.here = this.name(cwd)
  }

  switched(branch: string, id: number): void {
    // On no branch, or in a folder without git.
    if (branch === 'HEAD') delete this.#git.branch
    else this.#git.branch = branch
    this.#git.id = id
  }

  isOn(branch: string): boolean {
    return branch === 'HEAD' || branch === this.#git.branch
  }

  committed(commit: string, id: number): void {
    this.#git.commit = commit
    this.#git.id = id
  }

  /** Something moved the branch whose end is not told: where it stands now is not known. */
  movedOn(): void {
    delete this.#git.commit
  }

  /** The branch is gone, and the work stands on another one. */
  left(): void {
    delete this.#git.branch
    this.movedOn()
  }

  /** A path as facts name it. */
  name(path: string): string {
    return below(this.folder, joinPath('', path))
  }

  /** `from`: the folder in which a relative path begins, as facts name it. */
  named(effect: Effect, from = ''): Effect {
    if (!('path' in effect)) return effect
    const name = (path: string) => this.name(joinPath(from, path))
    const path = name(effect.path)
    if ('to' in effect) return { ...effect, path, to: name(effect.to) }
    // Most are named like that already: copies would take a tenth of the time of the whole ledger.
    return path === effect.path ? effect : { ...effect, path }
  }

  /** In a folder for what is thrown away, while the session lives elsewhere. */
  isScratch(path: string): boolean {
    return this.folder !== undefined && isAbsolute(path) && temporaryFolder.test(path)
  }

  fact(): GitFact | undefined {
    if (this.folder === undefined && this.#git.branch === undefined) return undefined
    return { cwd: this.folder ?? '', ...this.#git, checked: false }
  }
}

const temporaryFolder = /^(?:\/private)?\/(?:tmp|var\/tmp|var\/folders|dev\/shm)\//
