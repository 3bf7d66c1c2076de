// The options of `baton chat`.

import type { Globals } from '../output.ts'

export interface ChatOptions extends Globals {
  new?: boolean
  tape?: string
  model?: string
  baseUrl?: string
  yes?: boolean
  print?: string | true
}
