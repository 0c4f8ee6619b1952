import { type HoldfastError, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";
import { watched } from "./watched.ts";

const rules = [{ detect: "backlog", after: "1m", action: "alert" }] as const;
const noop = (): void => {};

describe("whoever keeps watch", () => {
  test("is the worker with rules that has been there longest; when it leaves, the next one tells it again", async () => {
    const fleet = openFleet();
    const first = await watched(rules, {}, fleet);
    await fleet.clock.advance("1s");
    const second = await watched(rules, {}, fleet);
    await first.client.start("nobody", undefined);
    await fleet.clock.advance("2m");
    expect([first.told(), second.told()]).toEqual([["firing backlog"], []]);
    await fleet.clock.until(first.watcher.drain());
    await fleet.clock.advance("1m");
    expect([first.told(), second.told()]).toEqual([["firing backlog"], ["firing backlog"]]);
  });

  test("of one namespace sees nothing of another", async () => {
    const { fleet, alerts } = await watched(rules);
    await fleet.client({ namespace: "other" }).start("nobody", undefined);
    await fleet.clock.advance("5m");
    expect(alerts).toEqual([]);
  });

  test("is the leader, which only reports, where nobody has rules", async () => {
    const fleet = openFleet();
    await fleet.worker({ name: "leader" }, { watches: true });
    await fleet.worker({ name: "other" }, { watches: true });
    await fleet.client().start("nobody", undefined);
    await fleet.clock.advance("10m");
    const lines = fleet.lines.filter(({ fields }) => "watchdog" in fields);
    expect(lines.map(({ fields }) => (fields as { watchdog: string }).watchdog)).toEqual([
      "unserved_version",
      "backlog",
    ]);
    // The clock, the workers and what is due, once a minute; nothing for whoever does not lead.
    expect(fleet.store.calls["queues.backlog"]).toBe(10);
    await watched(rules, {}, fleet);
    const before = fleet.store.calls["queues.backlog"] ?? 0;
    await fleet.clock.advance("1m");
    // Six by the one with rules; the leader leaves it to that one.
    expect((fleet.store.calls["queues.backlog"] ?? 0) - before).toBe(6);
  });

  test("is nobody if the watchdog is off, and costs nothing", async () => {
    const fleet = openFleet();
    await fleet.worker({ watchdog: false }, { watches: true });
    await fleet.client().start("nobody", undefined);
    await fleet.clock.advance("10m");
    const { "queues.backlog": looks, "workers.list": lists, readClock: clocks } = fleet.store.calls;
    expect([looks, lists, clocks]).toEqual([undefined, undefined, undefined]);
  });

  test("in the test engine never makes time pass by itself", async () => {
    const alerts: string[] = [];
    const idle = workflow("idle", async (ctx) => ctx.now());
    const t = await testEngine({ workflows: [idle] });
    const worker = t.client.worker({ watchdog: { rules, onAlert: ({ detect }) => void alerts.push(detect) } });
    await worker.start();
    const began = t.clock.now();
    await t.run(idle);
    expect(t.clock.now()).toBe(began);
    await t.client.start("nobody", undefined);
    await t.clock.advance("10m");
    expect(alerts).toEqual(["backlog"]);
    await t.close();
  });
});

describe("rules", () => {
  const refused = (watchdog: unknown): string => {
    try {
      openFleet()
        .client()
        .worker({ watchdog: watchdog as false });
    } catch (error) {
      const { code, data, message } = error as HoldfastError;
      // Durations and names have codes of their own; the message says which option it is.
      if (code === "invalid_option") return String(data?.["option"]);
      expect(["invalid_duration", "invalid_name"]).toContain(code);
      return message;
    }
    return "accepted";
  };
  const rule = { detect: "stalled_run", action: "report" };

  test.each([
    [true, "watchdog"],
    [{}, "watchdog.rules"],
    [{ rules: {} }, "watchdog.rules"],
    [{ rules: [], every: "soon" }, "watchdog.every"],
    [{ rules: [], every: "10ms" }, "watchdog.every"],
    [{ rules: [], often: 1 }, "watchdog.often"],
    [{ rules: [rule, "x"] }, "watchdog.rules[1]"],
    [{ rules: [{ action: "report" }] }, "watchdog.rules[0].detect"],
    [{ rules: [{ detect: "worker" }] }, "watchdog.rules[0].action"],
    [{ rules: [{ ...rule, detect: "stalled" }] }, "watchdog.rules[0].detect"],
    [{ rules: [{ ...rule, action: "kill" }] }, "watchdog.rules[0].action"],
    [{ rules: [{ ...rule, after: -1 }] }, "watchdog.rules[0].after"],
    [{ rules: [{ ...rule, workflow: "" }] }, "workflow name"],
    [{ rules: [{ ...rule, dryRun: "yes" }] }, "watchdog.rules[0].dryRun"],
    [{ rules: [{ detect: "backlog", action: "restart" }] }, "watchdog.rules[0].action"],
    [{ rules: [{ detect: "stalled_run", action: "timeout_task" }] }, "watchdog.rules[0].action"],
    [{ rules: [{ detect: "worker", action: "report", workflow: "w" }] }, "watchdog.rules[0].workflow"],
    [{ rules: [{ ...rule, action: "alert" }] }, "watchdog.rules[0].action"],
    [{ rules: [], onAlert: 1 }, "watchdog.onAlert"],
    [{ rules: [], webhook: { url: "ftp://x", secret: "s" } }, "watchdog.webhook.url"],
    [{ rules: [], webhook: { url: "http://x", secret: "" } }, "watchdog.webhook.secret"],
    [{ rules: [], webhook: { url: "http://x" } }, "watchdog.webhook.secret"],
  ])("%j is refused for %s", (watchdog, option) => {
    expect(refused(watchdog)).toContain(option);
  });

  test("that are right are accepted, but not of a worker that may not lead", () => {
    const watchdog = { rules: [{ ...rule, action: "alert", after: "5m" }], onAlert: noop } as const;
    expect(refused(watchdog)).toBe("accepted");
    const make = () =>
      openFleet()
        .client()
        .worker({ watchdog: watchdog as never, coordinate: false });
    expect(make).toThrow(
      expect.objectContaining({ code: "invalid_option", data: expect.objectContaining({ option: "watchdog" }) }),
    );
  });
});
