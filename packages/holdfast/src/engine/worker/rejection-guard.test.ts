import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { silentLogger } from "../../ports/logger.ts";
import { Guard } from "./rejection-guard.ts";

/** What `make` makes is held by nobody but the thing under test. */
async function isCollected(make: () => object): Promise<boolean> {
  const ref = new WeakRef(make());
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let tries = 0; tries < 10 && ref.deref() !== undefined; tries++) {
    // tidy-allow: a WeakRef lets go between two turns of the event loop only
    await new Promise((resolve) => setImmediate(resolve));
    collect();
  }
  return ref.deref() === undefined;
}

test("a guard whose worker is gone without a farewell keeps nothing alive, also while another one is on duty", async () => {
  const other = new Guard(silentLogger);
  const gone = (): object => {
    const log = { ...silentLogger };
    new Guard(log);
    return log;
  };
  expect(await isCollected(gone)).toBe(true);
  other.end();
});
