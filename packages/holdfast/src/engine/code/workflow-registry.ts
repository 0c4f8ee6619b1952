import type { AnyWorkflow } from "../../define/definitions.ts";
import { classifyError } from "../../errors/classify.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import { shouldRetry } from "../../errors/retry-rule.ts";
import { invalidValue, validateWith } from "../../errors/standard-schema.ts";
import { mayTryAgain, tryAgainInMs } from "../../model/retry-policy.ts";
import type { Environment } from "../../ports/environment.ts";
import { GuestMachine } from "../../replay/guests/guest-machine.ts";
import type { GuestHost } from "../../replay/guests/guest-run.ts";
import type { Machine, MachineParams } from "../../replay/machine.ts";
import type { RunCode, WorkflowBody } from "../../replay/run-code.ts";
import { RunMachine } from "../../replay/run-machine.ts";
import { codeIdentity } from "./code-identity.ts";

/** Which workflow versions a worker can run. */
export class WorkflowRegistry {
  readonly all: readonly AnyWorkflow[];
  /** By name, then by version. */
  readonly #codes = new Map<string, Map<string, WorkflowCode>>();

  /** Who brings the guests that execute its runs; undefined if its code is here. */
  readonly guests: GuestHost | undefined;

  constructor(workflows: readonly AnyWorkflow[], environment: Environment | undefined, codec = "") {
    this.all = [...new Set(workflows)];
    this.guests = this.all.find(({ guests }) => guests)?.guests;
    for (const definition of this.all) {
      const versions = this.#codes.get(definition.name) ?? new Map<string, WorkflowCode>();
      if (versions.has(definition.version)) {
        throw new HoldfastError(
          "duplicate_workflow",
          `Workflow "${definition.name}" version "${definition.version}" is registered twice with different code. Give one of them another version.`,
        );
      }
      versions.set(definition.version, codeOf(definition, environment, codec));
      this.#codes.set(definition.name, versions);
    }
  }

  /** What the store is asked for, and which code would run it. */
  get handlers(): { readonly workflow: string; readonly version: string; readonly code: string }[] {
    return this.all.map(({ name, version }) => {
      const { identity } = this.code(name, version) as WorkflowCode;
      return { workflow: name, version, code: identity };
    });
  }

  has(name: string, version: string): boolean {
    return this.code(name, version) !== undefined;
  }

  code(name: string, version: string): WorkflowCode | undefined {
    return this.#codes.get(name)?.get(version);
  }
}

/** What the engine needs from a workflow definition to execute a run. */
export interface WorkflowCode {
  /** Makes the machine of one run. */
  readonly machine: (params: MachineParams) => Machine;
  /** File and line of the definition, for messages. */
  readonly definedAt: string | undefined;
  /** Identifies this code among deployments. */
  readonly identity: string;
  readonly retryDelayMs: (error: unknown, failures: number, random: () => number) => number;
}

function codeOf(definition: AnyWorkflow, environment: Environment | undefined, codec: string): WorkflowCode {
  const { retry, retryIf, onBug } = definition;
  const fn = definition.fn as WorkflowBody;
  const body = definition.outputSchema ? checkedBody(definition, fn) : fn;
  const retryRun = retry
    ? (error: unknown, attempt: number): boolean =>
        mayTryAgain(retry, { attempt }, () => shouldRetry(retryIf, error, { kind: classifyError(error).kind, attempt }))
    : undefined;
  const code: RunCode = { body, onBug, retryRun, offering: definition };
  const { guests } = definition;
  return {
    definedAt: definition.definedAt,
    machine: (params) => (guests ? new GuestMachine(params, guests) : new RunMachine(params, code)),
    identity: codeIdentity(definition, environment, codec),
    retryDelayMs: (error, attempt, random) => {
      const { retryAfterMs } = classifyError(error);
      return retry ? tryAgainInMs(retry, { attempt, retryAfterMs }, random) : 0;
    },
  };
}

/** The body, with its output checked against the schema. */
function checkedBody(definition: AnyWorkflow, body: WorkflowBody): WorkflowBody {
  const schema = definition.outputSchema as NonNullable<AnyWorkflow["outputSchema"]>;
  return async (ctx, input) => {
    const result = validateWith(schema, await body(ctx, input));
    if (result instanceof Promise) {
      const message = `The output schema of workflow "${definition.name}" is asynchronous. Workflow code cannot wait for it: use a synchronous schema.`;
      throw new HoldfastError("invalid_output", message);
    }
    if (result.ok) return result.value;
    throw invalidValue("invalid_output", `output of workflow "${definition.name}"`, result.issues);
  };
}
