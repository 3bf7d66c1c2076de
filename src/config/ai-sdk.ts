// Which AI SDK calls a model. Baton carries AI SDK 6, which calls models of the specifications v2 and v3. A model of a newer
// specification was made by a newer SDK, and the package "ai" of the caller's own project calls it.

import { createRequire } from 'node:module'
import type { LanguageModel } from 'ai'
import { UnsupportedError } from '../errors.ts'

type AiSdk = Pick<typeof import('ai'), 'streamText'>

const carried: readonly string[] = ['v2', 'v3']

/** A variable, because the build replaces every literal import of the package by the carried copy. */
const ownPackage: string = 'ai'

/** The SDK that can call the model; where there is none, the error says what to install. */
export async function aiSdkFor(model: LanguageModel): Promise<AiSdk> {
  if (typeof model === 'string' || carried.includes(model.specificationVersion)) return import('ai')
  // AI SDK 5 brought the specification v2, 6 brought v3, 7 brought v4.
  const needed = Number(model.specificationVersion.slice(1)) + 3
  const found = ownVersion()
  if (found === undefined || Number.parseInt(found, 10) < needed) {
    throw new UnsupportedError(
      `The model ${model.modelId} needs AI SDK ${needed}, and ${found === undefined ? 'it is not installed' : `AI SDK ${found} is installed`}`,
      { hint: `Run "npm install ai@${needed}" in your project.${needed === 7 ? ' It needs Node 22 or newer.' : ''}` },
    )
  }
  return (await import(ownPackage)) as AiSdk
}

/** The version of the package "ai" in the project that uses Baton. */
function ownVersion(): string | undefined {
  try {
    const { version } = createRequire(import.meta.url)(`${ownPackage}/package.json`) as { version: string }
    return version
  } catch {
    // There is no such package: the caller of this says so.
    return undefined
  }
}
