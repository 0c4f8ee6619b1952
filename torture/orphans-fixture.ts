/** A harness that is about to be killed: one of its worker processes works, another one is stopped. */
import { Fleet } from "./fleet.ts";
import type { Place } from "./torture-client.ts";

const { place, effectsFile } = JSON.parse(process.argv[2] ?? "{}") as { place: Place; effectsFile: string };
const fleet = await Fleet.open({ place, effectsFile, leaseMs: 1_000, concurrency: 1, gated: false });
await fleet.keep(2);
const [working, still] = fleet.live;
still?.arm("before-heartbeat", "stop");
await still?.untilReached();
process.send?.([working?.pid, still?.pid]);
