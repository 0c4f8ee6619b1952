/** A worker process that fires schedules and executes their runs. It dies on command: at once, or around its next call of a name. */
import process from "node:process";
import { silentLogger } from "holdfast";
import { type Store, type StoreMethod, storeAround } from "holdfast/adapter";
import { openTortureClient, type Place } from "../torture-client.ts";
import { DEFINITIONS, foreign } from "./beats.ts";

export interface BeatSetup {
  readonly place: Place;
  readonly name: string;
  readonly leaseMs: number;
}

/** Where to die. */
export interface Doom {
  readonly method: StoreMethod;
  readonly moment: "before" | "after";
}

const setup = JSON.parse(process.argv[2] ?? "{}") as BeatSetup;
let doom: Doom | undefined;

function mortal(store: Store): Store {
  return storeAround(store, async (method, _params, call) => {
    const dies = doom?.method === method ? doom.moment : undefined;
    if (dies === "before") die();
    const answer = await call();
    if (dies === "after") die();
    return answer;
  });
}

function die(): never {
  process.kill(process.pid, "SIGKILL");
  // The signal comes before anything else can happen here.
  for (;;);
}

process.on("disconnect", () => process.exit(0));
process.on("message", (message) => {
  doom = message as Doom;
});
const { client } = await openTortureClient(setup.place, { log: silentLogger, wrap: mortal });
const worker = client.worker({
  workflows: [...DEFINITIONS, foreign],
  name: setup.name,
  lease: { milliseconds: setup.leaseMs },
  concurrency: 50,
});
await worker.start();
process.send?.(worker.workerId);
