import { workflow } from "../../packages/holdfast/src/define/definitions.ts";
import type { ChildDefinition } from "../../packages/holdfast/src/replay/ops/start-options.ts";

const DEFINITIONS = new Map<string, ChildDefinition>();

/** A generated workflow as the code that starts it knows it: what it does is somebody else's concern. */
export function definitionOfProgram(name: string): ChildDefinition {
  const known = DEFINITIONS.get(name);
  if (known) return known;
  const made = workflow({ name, version: "1" }, async (_ctx, _input: unknown) => null as unknown);
  DEFINITIONS.set(name, made as unknown as ChildDefinition);
  return made as unknown as ChildDefinition;
}
