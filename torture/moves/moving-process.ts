// Moves runs in a separate process, and dies on the way: before or after the n-th call of a method.
import { writeSync } from "node:fs";
import process from "node:process";
import { storeAround } from "holdfast/adapter";
import { openTortureClient, type Place } from "../torture-client.ts";

export interface Death {
  readonly method: string;
  readonly side: "before" | "after";
  readonly number: number;
}

export interface MoveSetup {
  readonly from: Place;
  readonly to: Place;
  readonly death: Death | null;
}

const { from, to, death } = JSON.parse(process.argv[2] ?? "") as MoveSetup;

let calls = 0;
const open = (place: Place) =>
  openTortureClient(place, {
    wrap: (store) =>
      storeAround(store, async (method, _params, call) => {
        const dies = method === death?.method && ++calls === death.number;
        if (dies && death.side === "before") process.kill(process.pid, "SIGKILL");
        const answer = await call();
        if (dies) process.kill(process.pid, "SIGKILL");
        return answer;
      }),
  });
const [source, target] = [await open(from), await open(to)];
writeSync(1, `${JSON.stringify(await source.client.move({ to: target.client }))}\n`);
process.exit();
