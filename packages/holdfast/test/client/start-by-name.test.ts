import { type Context, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const wait = (ctx: Context): Promise<void> => ctx.sleep("a while", "1h");
const narrow = workflow({ name: "narrow", queue: "narrow" }, wait);
const keyed = workflow({ name: "keyed", key: (input: { shop: string }) => input.shop }, wait);

describe("a start by name, of code in another process", () => {
  test("looks for the version once in five seconds, and a start by definition never", async () => {
    const fleet = openFleet();
    await fleet.worker({ workflows: [narrow] });
    const client = fleet.client();
    const looks = (): number => fleet.store.calls["versions.list"] ?? 0;
    const before = looks();
    await client.startMany(Array.from({ length: 50 }, () => ({ workflow: narrow })));
    expect(looks()).toBe(before);
    await client.startMany(Array.from({ length: 50 }, () => ({ workflow: "narrow" })));
    expect((await (await client.start("narrow")).describe()).queue).toBe("narrow");
    expect(looks()).toBe(before + 1);
    await fleet.clock.advance("5s");
    await client.start("narrow");
    expect(looks()).toBe(before + 2);
  });

  test("gets the queue of a workflow that is registered a moment later", async () => {
    const fleet = openFleet();
    const client = fleet.client();
    expect((await (await client.start("narrow")).describe()).queue).toBe("default");
    await fleet.worker({ workflows: [narrow] });
    await fleet.clock.advance("100ms");
    expect((await (await client.start("narrow")).describe()).queue).toBe("narrow");
  });

  test("is what a schedule does, too, and an update that leaves the input leaves the key", async () => {
    const fleet = openFleet();
    await fleet.worker({ workflows: [keyed] });
    const { schedules } = fleet.client();
    const schedule = { id: "s", workflow: "keyed", input: { shop: "a" }, every: "1 day" } as const;
    const missing = { code: "invalid_option", data: { option: "key" } };
    await expect(schedules.create(schedule)).rejects.toMatchObject(missing);
    await schedules.create({ ...schedule, options: { key: "a" } });
    const keyOf = (): unknown => [...fleet.store.state.schedules.values()].map(({ definition }) => definition.key);
    await schedules.update("s", { options: { priority: 2 } });
    expect(keyOf()).toEqual(["a"]);
    await expect(schedules.update("s", { input: { shop: "b" } })).rejects.toMatchObject(missing);
    await schedules.update("s", { input: { shop: "b" }, options: { key: "b" } });
    expect(keyOf()).toEqual(["b"]);
  });
});
