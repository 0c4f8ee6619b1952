import { differential } from "@holdfast/conformance";
import { expect, test } from "vitest";
import { Catalog } from "../src/database/catalog.ts";
import { KnownHolds } from "../src/database/known-holds.ts";
import { lookForRuns } from "../src/runs/claims.ts";
import { sqliteUnderTest } from "./sqlite-under-test.ts";

let empty = 0;

/** Before each claim, it looks as a claim does that waits for the lock: that may find nothing only where the claim finds nothing. */
const open = () =>
  sqliteUnderTest((sql, clock) => ({
    "runs.claim": async (params, claim) => {
      const known = { catalog: new Catalog(sql), holds: new KnownHolds(), knownSchema: 1, hints: [] };
      const looked = lookForRuns({ sql, ...known, now: Math.floor(clock.now()) }, params);
      const claimed = await claim();
      if (looked === undefined) return claimed;
      empty += 1;
      expect(claimed).toEqual({ ...looked, nextDueAt: claimed.nextDueAt });
      // What it did not sort in is left for a later claim.
      expect(looked.nextDueAt ?? Number.POSITIVE_INFINITY).toBeLessThanOrEqual(
        claimed.nextDueAt ?? Number.POSITIVE_INFINITY,
      );
      return claimed;
    },
  }));

differential([{ name: "SQLite", open }]);

test("some of the claims could be answered without the lock", () => {
  expect(empty).toBeGreaterThan(0);
});
