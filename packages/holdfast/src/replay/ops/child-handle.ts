import type { ChildHandle, SignalDefinition } from "../context/context.ts";
import type { UpdateDefinition } from "../context/conversations.ts";
import { noteOffering } from "../context/offers.ts";
import type { Scope } from "../context/scope.ts";
import type { MachineInside } from "../machine-inside.ts";
import { quiet } from "../op.ts";
import type { ChildWork } from "./child-work.ts";
import { askCancel, askSignal, askUpdate } from "./message.ts";
import { noteHandle } from "./message-work.ts";
import type { ChildDefinition } from "./start-options.ts";

/** Resolves once the child has been started. `result`: the promise of its output. */
export function makeChildHandle(
  machine: MachineInside,
  scope: Scope,
  definition: ChildDefinition,
  child: ChildWork,
  result: Promise<unknown>,
): Promise<ChildHandle> {
  const handle: ChildHandle = {
    get id() {
      return child.identity.id;
    },
    get runId() {
      return child.identity.runId;
    },
    get workflow() {
      return child.identity.workflow;
    },
    result: () => {
      machine.assertInTurn("child.result", definition.name);
      return result;
    },
    signal: (signal, ...[payload]) =>
      askSignal(machine, scope, "child.signal", handle, signal as SignalDefinition<unknown, unknown>, payload),
    update: (update, ...[argument]) =>
      askUpdate(machine, scope, "child.update", handle, update as UpdateDefinition, argument) as Promise<never>,
    cancel: (reason) => askCancel(machine, scope, "child.cancel", handle, reason),
  };
  noteOffering(handle, definition);
  noteHandle(handle, child);
  const started = new Promise<ChildHandle>((resolve, reject) => {
    child.onStarted = () => resolve(handle);
    result.catch(reject);
  });
  return quiet(started);
}
