export { type HandoffRequestSpan, type HandoffTelemetry, handoffTelemetry, type HandoffWorkSpan } from './handoffs.ts'
export { telemetrySection, type TelemetrySettings } from './settings.ts'
export { type StartedSdk, startSdk } from './sdk.ts'
