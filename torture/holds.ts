/** Whether a worker process holds parents and children at this moment: told to the harness whenever it changes. */
import { writeSync } from "node:fs";
import type { CommitRunsParams, CommitRunsResult, ReleaseRunsParams, RunRow, StoreMethod } from "holdfast/adapter";
import { PARENTS } from "./conversation-workloads.ts";
import { HOLDS, POINT_FD } from "./worker-messages.ts";

type Kind = "parents" | "children";

export class Holds {
  readonly #held: Readonly<Record<Kind, Set<string>>> = { parents: new Set(), children: new Set() };
  #told = "";

  /** What a call of the store, which has been answered, means for it. */
  note(method: StoreMethod, params: unknown, result: unknown, workerId: string | undefined): void {
    if (method === "runs.claim") for (const run of (result as { runs: RunRow[] }).runs) this.#take(run);
    if (method === "runs.start")
      for (const { run } of (result as { outcomes: { run: RunRow | null }[] }).outcomes)
        if (run && run.heldBy === workerId) this.#take(run);
    if (method === "runs.commit") this.#noteCommit(params as CommitRunsParams, result as CommitRunsResult);
    if (method === "runs.releaseIfHeld") for (const { runId } of (params as ReleaseRunsParams).runs) this.#drop(runId);
    this.#tell();
  }

  #noteCommit({ commits }: CommitRunsParams, { outcomes }: CommitRunsResult): void {
    for (const [i, { runId }] of commits.entries()) {
      const { outcome, held } = outcomes[i] ?? {};
      if (outcome === "lost" || (outcome === "written" && !held)) this.#drop(runId);
    }
  }

  #take({ runId, workflow, lineage }: RunRow): void {
    if (PARENTS.has(workflow)) this.#held.parents.add(runId);
    if (lineage) this.#held.children.add(runId);
  }

  #drop(runId: string): void {
    this.#held.parents.delete(runId);
    this.#held.children.delete(runId);
  }

  #tell(): void {
    const { parents, children } = this.#held;
    const now = `${HOLDS}${parents.size > 0 ? "parents" : ""} ${children.size > 0 ? "children" : ""}\n`;
    if (now === this.#told) return;
    this.#told = now;
    writeSync(POINT_FD, now);
  }
}
