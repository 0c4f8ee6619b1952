import { task, workflow } from "holdfast";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const ok = task("ok", () => 1);

const LOOK_ALIKES: Readonly<Record<string, unknown>> = {
  "an object with the name and the kind of a task": { kind: "task", name: "ok" },
  "a task that went through JSON": JSON.parse(JSON.stringify(ok)),
  "a copy of a task under another name": { ...ok, name: "other" },
};

for (const [what, value] of Object.entries(LOOK_ALIKES)) {
  test(`${what} is refused where it is called, and other runs go on`, async () => {
    const fleet = openFleet();
    const client = fleet.client();
    const wrong = workflow("wrong", async (ctx) => ctx.task(value as typeof ok));
    const right = workflow("right", async (ctx) => ctx.task(ok));
    await fleet.worker({ workflows: [wrong, right], tasks: [ok] });
    const [bad, good] = [await client.start(wrong), await client.start(right)];
    expect(await fleet.clock.until(good.result())).toBe(1);
    expect(await bad.status()).toBe("parked");
    expect((await client.why(bad.runId)).reason).toContain("not a task");
  });

  test(`${what} is refused by a worker`, () => {
    const fleet = openFleet();
    expect(() => fleet.client().worker({ tasks: [value as typeof ok] })).toThrow(
      expect.objectContaining({ code: "invalid_option" }),
    );
  });
}
