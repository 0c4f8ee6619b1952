import type { AnyWorkflow } from "../define/definitions.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import type { WorkflowBody } from "../replay/run-machine.ts";

/** Which workflow versions a worker can run. */
export class WorkflowRegistry {
  readonly #definitions = new Map<string, AnyWorkflow>();

  constructor(workflows: readonly AnyWorkflow[]) {
    for (const definition of workflows) {
      const key = keyOf(definition.name, definition.version);
      const other = this.#definitions.get(key);
      if (other && other !== definition) {
        throw new HoldfastError(
          "duplicate_workflow",
          `Workflow "${definition.name}" version "${definition.version}" is registered twice with different code. Give one of them another version.`,
        );
      }
      this.#definitions.set(key, definition);
    }
  }

  get all(): AnyWorkflow[] {
    return [...this.#definitions.values()];
  }

  has(name: string, version: string): boolean {
    return this.#definitions.has(keyOf(name, version));
  }

  body(name: string, version: string): WorkflowBody | undefined {
    return this.#definitions.get(keyOf(name, version))?.fn as WorkflowBody | undefined;
  }
}

function keyOf(name: string, version: string): string {
  return `${name}\n${version}`;
}
