// Where the session works: its folder, branch and commit, wherever an importer, a session's start or git's own output
// put them. Paths of facts are relative to that folder.

import type { Effect } from './effect.ts'
import type { GitFact } from './facts.ts'
import { below, isAbsolute, joinPath } from './paths.ts'
import { isFields } from './vocabulary.ts'

export class Place {
  folder: string | undefined
  private git: { branch?: string; commit?: string; base?: string; id?: number } = {}

  constructor(cwd: string | undefined) {
    if (cwd !== undefined) this.folder = joinPath('', cwd)
  }

  read(fields: Readonly<Record<string, unknown>>, id: number): void {
    const { cwd } = fields
    if (typeof cwd === 'string' && cwd !== '' && this.folder === undefined) {
      this.folder = joinPath('', cwd)
      this.git.id = id
    }
    const git = isFields(fields['git']) ? fields['git'] : fields
    const branch = git['branch'] ?? git['gitBranch'] ?? git['git_branch']
    if (typeof branch === 'string' && branch !== '' && branch !== this.git.branch) this.switched(branch, id)
    const commit = git['commit'] ?? git['commit_hash'] ?? git['head']
    if (typeof commit === 'string' && commit !== this.git.commit && /^[0-9a-f]{7,64}$/.test(commit)) {
      // The first that is named is where the session began.
      this.git.base ??= commit
      this.committed(commit, id)
    }
  }

  switched(branch: string, id: number): void {
    this.git.branch = branch
    this.git.id = id
  }

  committed(commit: string, id: number): void {
    this.git.commit = commit
    this.git.id = id
  }

  /** A path as facts name it. */
  name(path: string): string {
    return below(this.folder, joinPath('', path))
  }

  named(effect: Effect): Effect {
    if (!('path' in effect)) return effect
    const path = this.name(effect.path)
    return 'to' in effect ? { ...effect, path, to: this.name(effect.to) } : { ...effect, path }
  }

  /** In a folder for what is thrown away, while the session lives elsewhere. */
  isScratch(path: string): boolean {
    return this.folder !== undefined && isAbsolute(path) && TEMPORARY.test(path)
  }

  fact(): GitFact | undefined {
    if (this.folder === undefined && this.git.branch === undefined) return undefined
    return { cwd: this.folder ?? '', ...this.git, checked: false }
  }
}

const TEMPORARY = /^(?:\/private)?\/(?:tmp|var\/tmp|var\/folders|dev\/shm)\//
