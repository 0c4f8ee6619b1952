import { type Client, connect, signal, silentLogger, workflow } from "holdfast";
import { systemPorts } from "holdfast/adapter";
import { describe, expect, test } from "vitest";
import { startDuties } from "../../src/store-service/duties.ts";
import { silent } from "./remote-under-test.ts";
import { memoryStore } from "./served-store.ts";
import { type Fate, Wire } from "./wire.ts";

const go = signal<string>("go");

/** How many messages of a life are cut at: more than the shortest life has. */
const MESSAGES = 24;
const AT_ONCE = 8;

interface Life {
  readonly result: unknown;
  readonly effects: readonly string[];
  readonly sessions: number;
  readonly messages: number;
}

describe.each(["request", "response"] as const)("a stream that is cut just before a %s arrives", (side) => {
  test("loses nothing and repeats nothing, whichever it is", { timeout: 60_000 }, async () => {
    const whole = await live(side, Number.POSITIVE_INFINITY);
    expect(whole).toMatchObject({ result: "a b c!", effects: ["a", "b", "c"], sessions: 1 });
    expect(whole.messages).toBeGreaterThan(8);
    let cut = 0;
    for (let first = 1; first <= MESSAGES; first += AT_ONCE) {
      const places = Array.from({ length: AT_ONCE }, (_, i) => first + i);
      for (const life of await Promise.all(places.map((place) => live(side, place)))) {
        expect(life).toMatchObject({ result: "a b c!", effects: ["a", "b", "c"] });
        if (life.sessions > 1) cut += 1;
      }
    }
    expect(cut).toBeGreaterThan(8);
  });
});

/** A client and a worker in one process, a run with steps, a timer and a signal; the stream is cut once. */
async function live(side: "request" | "response", cutAt: number): Promise<Life> {
  const effects: string[] = [];
  const letters = workflow("letters", async (ctx) => {
    const step = (name: string): Promise<string> =>
      ctx.step(name, async () => {
        effects.push(name);
        return name;
      });
    const [a, b] = [await step("a"), await step("b")];
    await ctx.sleep("rest", "1ms");
    const c = await step("c");
    return `${a} ${b} ${c}${await ctx.receive(go)}`;
  });
  const opened = memoryStore();
  const wire = new Wire(opened, { caller: { allows: () => true } });
  const duties = await startDuties({ opened, clock: systemPorts.clock, log: silent });
  const hf = await clientOf(wire);
  let messages = 0;
  wire.faults = {
    [side]: ({ call, control }: { call: number; control: { case: string | undefined } }): Fate => {
      // Neither the greeting nor signs of life.
      if (call === 0 && control.case !== "hints") return "arrives";
      messages += 1;
      return messages === cutAt ? "cut" : "arrives";
    },
  };
  const worker = hf.worker({ workflows: [letters] });
  await worker.start();
  const run = await hf.start(letters, undefined, { id: "x" });
  await run.signal(go, "!", { id: "once" });
  const result = await run.result();
  await hf.close();
  await duties.stop();
  wire.service.close();
  return { result, effects, sessions: wire.opened, messages };
}

function clientOf(wire: Wire): Promise<Client> {
  const adapter = { name: "wire", schemes: ["wire"], openStore: () => wire.connect() };
  return connect("wire:", { adapters: [adapter], logger: silentLogger });
}
