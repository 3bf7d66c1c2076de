// The `telemetry` section of baton.config.json.

import * as z from 'zod'

export const telemetrySection = z.strictObject({
  seedNames: z
    .boolean()
    .default(false)
    .describe('also under the older names: handoff.total, handoff.duration_ms and the like'),
})
export type TelemetrySettings = z.output<typeof telemetrySection>
