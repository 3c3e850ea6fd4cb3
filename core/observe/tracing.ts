/** The attributes of a span. No secrets, and no personal data. */
export type SpanAttributes = Record<string, string | number | boolean>

/**
 * Spans of OpenTelemetry, for what takes time: jobs, database, providers. Where tracing is off, which is the default,
 * work just runs, and nothing of OpenTelemetry is loaded (core/observe/telemetry.ts).
 */
export interface Tracing {
  /** Runs work as a span, below the one that is going on; an error marks it and goes on to the caller. */
  span<Result>(name: string, attributes: SpanAttributes, work: () => Promise<Result>): Promise<Result>
}

export const noTracing: Tracing = { span: (_name, _attributes, work) => work() }
