import type { Mutation } from "./mutation.ts";

export const ENGINE_MUTATIONS: readonly Mutation[] = [
  {
    name: "starts a step before what its code had seen is durable",
    file: "engine/step-board.ts",
    find: "return this.#run.mayUse(op) && this.#host.lease.active();",
    replace: "return this.#host.lease.active();",
    caughtBy: "durable-before-effect",
  },
  {
    name: "acts on results that are never written",
    file: "engine/step-board.ts",
    find: "return this.#run.mayUse(op) && this.#host.lease.active();",
    replace: "return this.#host.lease.active();",
    caughtBy: "effects-in-history",
  },
  {
    name: "starts steps although its lease has run out",
    file: "engine/step-board.ts",
    find: "return this.#run.mayUse(op) && this.#host.lease.active();",
    replace: "return this.#run.mayUse(op);",
    caughtBy: "within-lease",
  },
  {
    name: "repeats a step that must not be repeated after a crash",
    file: "engine/step-board.ts",
    find: 'if (!wasCutOff(work) || (work.options.onCrash !== "fail" && !work.closing)) return false;',
    replace: "if (!wasCutOff(work) || !work.closing) return false;",
    caughtBy: "completed-once",
  },
  {
    name: "keeps the runs that it held when it was declared dead",
    file: "engine/worker.ts",
    find: "    this.#lease.end();\n    this.#held.dropAll();\n    this.#claimer.abandon();\n    this.#committer.abandon();\n    this.#solo.reset();\n    await",
    replace:
      "    this.#lease.end();\n    this.#claimer.abandon();\n    this.#committer.abandon();\n    this.#solo.reset();\n    await",
    caughtBy: "within-lease",
  },
  {
    name: "goes on with a run that it was told is lost",
    file: "engine/run-executor.ts",
    find: 'if (outcome.outcome === "lost") return this.drop();',
    replace: "",
    caughtBy: "durable-before-effect",
  },
  {
    name: "drops the messages that were waiting when it took a run over",
    file: "engine/run-executor.ts",
    find: "    this.#consumed = run.consumed;\n    this.#durableConsumed = run.consumed;\n    this.#queuedMessages = run.consumed;",
    replace:
      "    this.#consumed = run.delivered;\n    this.#durableConsumed = run.delivered;\n    this.#queuedMessages = run.delivered;",
    caughtBy: "signals",
  },
  {
    name: "delivers what waits in a run's queue last in, first out",
    file: "engine/run-executor.ts",
    find: "const draft = this.#queue.shift() as QueuedDraft;",
    replace: "const draft = this.#queue.pop() as QueuedDraft;",
    caughtBy: "signals",
  },
  {
    name: "wakes a run from memory that others have had since",
    file: "engine/run-executor.ts",
    find: 'return this.state === "suspended" && run.epoch === this.run.epoch + 1 && run.commit === this.#commit;',
    replace: 'return this.state === "suspended";',
    caughtBy: "completed-once",
  },
  {
    name: "forgets attributes when others are set",
    file: "engine/run-executor.ts",
    find: "const attributes = machine.freshAttributes && { ...this.run.attributes, ...machine.freshAttributes };",
    replace: "const attributes = machine.freshAttributes;",
    caughtBy: "row-is-fold",
  },
  {
    name: "acknowledges a flush that the store has not answered",
    file: "engine/committer.ts",
    find: "        await backoff(this.#params, failures);\n        if (this.#abandoned !== abandoned) return;\n      }\n    }\n    // Not inside",
    replace:
      '        result = {\n          outcomes: params.commits.map((c) => ({ outcome: "written", held: c.transition.type === "hold", delivered: c.consumed })),\n          messages: [],\n          now: storeTime.now(),\n        };\n      }\n    }\n    // Not inside',
    caughtBy: "acknowledged",
  },
  {
    name: "fires timers before they are due",
    file: "engine/due-times.ts",
    find: "(op.fireAt as number) <= now);",
    replace: "(op.fireAt as number) <= now + 3_000);",
    caughtBy: "timers",
  },
  {
    name: "never looks for workers that have died",
    file: "engine/sweeper.ts",
    find: "const result = await store.sweepWorkers(this.#sweepParams());",
    replace: "const result = await store.sweepWorkers({ ...this.#sweepParams(), limit: 0 });",
    caughtBy: "nothing-lost",
  },
  {
    name: "keeps runs that it does not know from a claim whose answer was lost",
    file: "engine/reconciler.ts",
    find: "if (strangers.length === 0) return;",
    replace: "if (strangers.length >= 0) return;",
    caughtBy: "nothing-lost",
  },
  {
    name: "asks for work all the time",
    file: "engine/claimer.ts",
    find: "else if (result.nextDueAt === null) this.#wakeIn(this.#params.fallbackMs, clock);",
    replace: "else if (result.nextDueAt === null) this.#wakeIn(50, clock);",
    caughtBy: "quiet",
  },
  {
    name: "calls a canceled run failed",
    file: "engine/run-end.ts",
    find: 'status: canceled ? "canceled" : "failed",',
    replace: 'status: "failed",',
    caughtBy: "outputs",
  },
  {
    name: "tells the result of a run that has not ended",
    file: "client/result-waiter.ts",
    find: "else if (isClosed(run.status)) this.#settle(endOf(run));",
    replace: 'else if (run.status !== "parked") this.#settle(endOf(run));',
    caughtBy: "acknowledged",
  },
  {
    name: "acknowledges a signal before it is durable",
    file: "client/run-handle.ts",
    find: "const outcome: DeliverOutcome = await this.#core.messages.add({ ...message, messageId, to: this.#ref() });",
    replace:
      'const outcome: DeliverOutcome = { outcome: "delivered", runId: null, status: null };\n    void this.#core.messages.add({ ...message, messageId, to: this.#ref() }).catch(() => {});',
    caughtBy: "acknowledged",
  },
];
