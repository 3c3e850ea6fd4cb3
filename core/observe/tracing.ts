/** The attributes of a span. No secrets, and no personal data. */
export type SpanAttributes = Record<string, string | number | boolean>

/**
 * OpenTelemetry spans for slow work: jobs, database, providers. When tracing is off, which is the default, the work
 * runs without a span, and OpenTelemetry is not loaded (core/observe/telemetry.ts).
 */
export interface Tracing {
  /** Runs work as a span, below the one that is going on; an error marks it and goes on to the caller. */
  span<Result>(name: string, attributes: SpanAttributes, work: () => Promise<Result>): Promise<Result>
}

export const noTracing: Tracing = { span: (_name, _attributes, work) => work() }
