/** A worker process that fires schedules and executes their runs. It dies on command: at once, or around its next call of a name. */
import process from "node:process";
import { isHoldfastError, silentLogger } from "holdfast";
import { type Store, type StoreMethod, storeAround } from "holdfast/adapter";
import { openTortureClient, type Place, type TortureClient } from "../torture-client.ts";
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
/** The server may be down, on purpose. */
async function connected(): Promise<TortureClient> {
  for (;;) {
    try {
      return await openTortureClient(setup.place, { log: silentLogger, wrap: mortal });
    } catch (error) {
      if (!isHoldfastError(error, "store_unavailable")) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

const { client } = await connected();
const worker = client.worker({
  workflows: [...DEFINITIONS, foreign],
  name: setup.name,
  lease: { milliseconds: setup.leaseMs },
  concurrency: 50,
});
await worker.start();
process.send?.(worker.workerId);
