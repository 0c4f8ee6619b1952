import { type Context, type RunHandle, workflow } from "holdfast";
import type { CommitRunsParams, StoreHooks } from "holdfast/adapter";
import type { World } from "./world.ts";

/** A worker whose commits meet somebody on their way: `before` is called each time one that ends a run is about to arrive. */
export async function waylaid(
  world: World,
  code: (ctx: Context) => Promise<unknown>,
  before: (run: RunHandle, ends: number) => Promise<unknown> | undefined,
  hooks: StoreHooks = {},
): Promise<{ readonly run: RunHandle; readonly ends: () => number }> {
  let ends = 0;
  const outside = world.client();
  const commitRuns = async (params: CommitRunsParams, call: () => ReturnType<World["store"]["runs"]["commit"]>) => {
    if (params.commits.some(({ transition }) => transition.type === "end")) await before(outside.get("r"), ++ends);
    return call();
  };
  const client = world.client({ hooks: { ...hooks, "runs.commit": commitRuns } });
  const job = workflow("job", code);
  await world.worker(client, { workflows: [job] });
  return { run: await client.start(job, undefined, { id: "r" }), ends: () => ends };
}
