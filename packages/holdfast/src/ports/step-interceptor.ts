export interface StepCall {
  readonly runId: string;
  readonly workflow: string;
  /** Op id: `charge`, `charge#2`. */
  readonly op: string;
  readonly attempt: number;
}

/** Stands around the execution of steps: mocks in tests, spans in telemetry. Absent unless somebody asks for it. */
export interface StepInterceptor {
  /** Must call `run` or answer in its place; what it returns or throws is what the step did. */
  around(call: StepCall, run: () => Promise<unknown>): Promise<unknown>;
}
