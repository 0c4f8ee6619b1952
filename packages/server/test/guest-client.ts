/** A guest as a worker in another language would be: it runs code from the top each time, and asks for every step. */
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { type PollTaskResponse, WorkerService } from "@holdfast/protocol";
import { jsonOf, jsonPayload } from "./server-under-test.ts";

export type WorkerClient = ReturnType<typeof createClient<typeof WorkerService>>;

export function guestClient(transport: Transport): WorkerClient {
  return createClient(WorkerService, transport);
}

/** The run is to be left alone: it sleeps, waits for a retry, or somebody else has it. */
export class Stop extends Error {}

export class GuestContext {
  readonly #client: WorkerClient;
  readonly task: PollTaskResponse;

  constructor(client: WorkerClient, task: PollTaskResponse) {
    this.#client = client;
    this.task = task;
  }

  async step(stepName: string, work: (about: { attempt: number; key: string }) => unknown, retry?: object) {
    const { taskToken } = this.task;
    const begun = await this.#client.beginStep({ taskToken, stepName, ...(retry ? { retryPolicy: retry } : {}) });
    if (!begun.shouldExecute) {
      if (begun.cachedError) throw new Error(begun.cachedError.message);
      return jsonOf(begun.cachedOutput);
    }
    const { stepId, attempt, idempotencyKey: key } = begun;
    let output: unknown;
    try {
      output = await work({ attempt, key });
    } catch (error) {
      if (error instanceof Stop) throw error;
      const detail = { message: (error as Error).message };
      const { scheduledRetry } = await this.#client.failStep({ taskToken, stepId, attempt, error: detail });
      if (scheduledRetry) throw new Stop("retry");
      throw error;
    }
    await this.#client.completeStep({ taskToken, stepId, attempt, output: jsonPayload(output) });
    return output;
  }

  async sleep(stepId: string, ms: number): Promise<void> {
    const duration = { seconds: BigInt(Math.floor(ms / 1_000)), nanos: (ms % 1_000) * 1_000_000 };
    const { elapsed } = await this.#client.sleep({ taskToken: this.task.taskToken, stepId, duration });
    if (!elapsed) throw new Stop("sleep");
  }
}

export type GuestCode = (ctx: GuestContext, input: unknown) => Promise<unknown>;

/** Executes one run that was polled, as far as it goes. Answers how it was left. */
export async function execute(client: WorkerClient, task: PollTaskResponse, code: GuestCode): Promise<string> {
  const { taskToken } = task;
  try {
    const output = jsonPayload(await code(new GuestContext(client, task), jsonOf(task.input)));
    await client.completeWorkflow({ taskToken, output });
    return "completed";
  } catch (error) {
    if (error instanceof Stop) return error.message;
    if (error instanceof ConnectError) {
      if (error.code === Code.Aborted) return "aborted";
      throw error;
    }
    await client.failWorkflow({ taskToken, error: { message: (error as Error).message } });
    return "failed";
  }
}
