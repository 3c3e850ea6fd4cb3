/** The attributes of a span, without secrets and personal data. */
export type SpanAttributes = Record<string, string | number | boolean>

/**
 * OpenTelemetry spans for slow work: jobs, database, providers. When tracing is off, which is the default, the work
 * runs without a span, and OpenTelemetry is not loaded (core/observe/telemetry.ts).
 */
export interface Tracing {
  /** Runs work in a child span of the current span. An error marks the span and is thrown again. */
  span<Result>(name: string, attributes: SpanAttributes, work: () => Promise<Result>): Promise<Result>
}

export const noTracing: Tracing = { span: (_name, _attributes, work) => work() }
