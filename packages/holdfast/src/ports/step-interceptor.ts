export interface StepCall {
  readonly runId: string;
  readonly workflow: string;
  /** Op id: `charge`, `charge#2`. */
  readonly op: string;
  readonly attempt: number;
}

/** Wraps the execution of steps: mocks in tests, spans in telemetry. Absent by default. */
export interface StepInterceptor {
  /** Must call `run` or answer in its place; what it returns or throws is the step's result. */
  around(call: StepCall, run: () => Promise<unknown>): Promise<unknown>;
}
