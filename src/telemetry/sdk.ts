// An SDK for a process of our own, such as a command: started when the usual variables ask for one. The SDK itself is the
// user's to install, because most never need it and it is larger than all of Baton.

const sdkPackage = '@opentelemetry/sdk-node'

/** Any of these says where spans or metrics go. */
const wishes = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
  'OTEL_TRACES_EXPORTER',
  'OTEL_METRICS_EXPORTER',
]

interface Sdk {
  start(): void
  shutdown(): Promise<void>
}

export interface StartedSdk {
  /** Sends what is left; resolves within the bound, whether or not it could. */
  end(options?: { withinMs?: number }): Promise<void>
}

/** Undefined when no variable asks for it, or when it is not installed, which is said to `warn`. */
export async function startSdk(
  warn: (text: string) => void,
  env: NodeJS.ProcessEnv = process.env,
): Promise<StartedSdk | undefined> {
  if (!wishes.some((name) => (env[name] ?? '') !== '') || env.OTEL_SDK_DISABLED?.toLowerCase() === 'true')
    return undefined
  const sdk = await load(warn, env)
  if (sdk === undefined) return undefined
  sdk.start()
  return {
    async end({ withinMs = 5_000 } = {}) {
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => reject(new Error(`no answer within ${withinMs} ms`)), withinMs)
      })
      try {
        await Promise.race([sdk.shutdown(), late])
      } catch (error) {
        warn(`baton: the last spans and metrics could not be sent: ${(error as Error).message}`)
      } finally {
        clearTimeout(timer)
      }
    },
  }
}

async function load(warn: (text: string) => void, env: NodeJS.ProcessEnv): Promise<Sdk | undefined> {
  let room: object
  try {
    room = (await import(sdkPackage)) as object
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND'
    const why = missing ? `${sdkPackage} is not installed beside Baton` : (error as Error).message
    warn(`baton: no telemetry is sent, though OTEL_… variables ask for it: ${why}`)
    return undefined
  }
  const { NodeSDK } = room as { NodeSDK: new (options: { serviceName?: string }) => Sdk }
  return new NodeSDK((env.OTEL_SERVICE_NAME ?? '') === '' ? { serviceName: 'baton' } : {})
}
