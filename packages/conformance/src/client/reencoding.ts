import { type Client, query, signal, task, workflow } from "holdfast";
import { encrypted, json, messagePack } from "holdfast/codecs";
import { expect } from "vitest";
import { type ClientFixture, refusalOf } from "./client-fixture.ts";
import type { ClientSuite } from "./client-suite.ts";
import { BOTH, OLD, statusOf } from "./codecs.ts";
import { liveInSecret } from "./secret-life.ts";

const NEW = { new: BOTH.new };
const go = signal<string>("go");
const next = signal<string>("next");
const asked = query<number>("asked");
const echo = workflow("echo", async (_ctx, text: string) => text);
const waits = workflow("waits", async (ctx, text: string) => {
  ctx.on(asked, () => 1);
  const step = await ctx.step("step", () => `${text} stepped`);
  return [step, await ctx.receive(go), await ctx.receive(go)];
});

const codecs = {
  old: encrypted({ current: "old", keys: OLD, inner: messagePack() }),
  both: encrypted({ current: "new", keys: BOTH }),
  new: encrypted({ current: "new", keys: NEW }),
};
const connectWith = (t: ClientFixture, key: keyof typeof codecs, namespace = "default"): Promise<Client> =>
  t.connect({ codec: codecs[key], namespace });

export const reencoding: ClientSuite = {
  noun: "that re-encodes what is stored",
  cases: {
    "writes the inputs of schedules again": async (t) => {
      const old = await connectWith(t, "old");
      const at = new Date("2100-01-01T00:00Z");
      await old.schedules.create({ id: "s", workflow: "echo", input: "a secret", at });
      const both = await connectWith(t, "both");
      expect(await both.reencode({ dryRun: true })).toMatchObject({ rewritten: 0, left: 1 });
      expect(await both.reencode()).toMatchObject({ rewritten: 1, left: 0, unreadable: 0 });
      expect(await both.reencode()).toMatchObject({ rewritten: 0, left: 0 });
      const described = await (await connectWith(t, "new")).schedules.get("s").describe();
      expect(described).toMatchObject({ input: "a secret", nextAt: at });
    },

    "leaves nothing that needs the old key, and changes nothing else": async (t) => {
      const clients = {
        worker: await connectWith(t, "old"),
        asker: await connectWith(t, "old"),
        theirs: await connectWith(t, "old", "theirs"),
      };
      await liveInSecret(clients, async () => {});
      const worker = clients.worker.worker({ workflows: [waits] });
      await worker.start();
      const run = await clients.asker.start(waits, "open", { id: "open" });
      await run.signal(go, "one");
      await statusOf(clients.asker, "open", "waiting");
      await worker.stop();
      await run.signal(go, "two");
      const unread = await clients.asker.start(echo, "never begun");
      const before = [await everything(clients.worker), await everything(clients.theirs)];
      for (const client of Object.values(clients)) await client.close();
      for (const namespace of ["default", "theirs"]) {
        const both = await connectWith(t, "both", namespace);
        const counted = await both.reencode({ dryRun: true });
        expect(counted).toMatchObject({ rewritten: 0, unreadable: 0 });
        expect(counted.left).toBeGreaterThan(5);
        expect(await both.reencode()).toMatchObject({ rewritten: counted.left, left: 0, unreadable: 0, cursor: null });
        expect(await both.reencode()).toMatchObject({ rewritten: 0, left: 0 });
      }
      const [ours, theirs] = [await connectWith(t, "new"), await connectWith(t, "new", "theirs")];
      expect([await everything(ours), await everything(theirs)]).toEqual(before);
      await ours.worker({ workflows: [waits, echo] }).start();
      expect(await ours.get(waits, "open").result()).toEqual(["open stepped", "one", "two"]);
      expect(await ours.get(echo, unread.id).result()).toBe("never begun");
    },

    "may do so while workers go on": async (t) => {
      const [old, both] = [await connectWith(t, "old"), await connectWith(t, "both")];
      await old.worker({ workflows: [waits] }).start();
      const ids = Array.from({ length: 20 }, (_, i) => `run-${i}`);
      for (const id of ids) await old.start(waits, id, { id });
      for (const id of ids) await statusOf(old, id, "waiting");
      await old.close();
      await both.worker({ workflows: [waits] }).start();
      const sending = ids.map(async (id) => {
        await both.get(waits, id).signal(go, "one");
        await both.get(waits, id).query(asked);
        await both.get(waits, id).signal(go, "two");
        return both.get(waits, id).result();
      });
      const [results] = await Promise.all([Promise.all(sending), both.reencode(), both.reencode()]);
      expect(results).toEqual(ids.map((id) => [`${id} stepped`, "one", "two"]));
      await both.reencode();
      const only = await connectWith(t, "new");
      for (const id of ids) expect(await only.get(waits, id).result()).toEqual([`${id} stepped`, "one", "two"]);
      expect((await everything(only)).length).toBe(ids.length);
    },

    "hands signals on that were received before, by a run that continues as new": async (t) => {
      const again = workflow("again", async (ctx, round: number): Promise<string> => {
        if (round === 2) return ctx.receive(go);
        await ctx.receive(next);
        return ctx.continueAsNew(2);
      });
      const old = await connectWith(t, "old");
      const run = await old.start(again, 1, { id: "again" });
      await run.signal(go, "kept");
      const both = await connectWith(t, "both");
      await both.worker({ workflows: [again] }).start();
      await statusOf(both, "again", "waiting");
      // Its worker keeps the run in memory, with the signal as it was sent.
      expect(await both.reencode()).toMatchObject({ left: 0 });
      await both.get(again, "again").signal(next, "go on");
      expect(await both.get(again, "again").result()).toBe("kept");
      expect(await both.reencode()).toMatchObject({ rewritten: 0, left: 0 });
    },

    "tells how far it is, and goes on where it was broken off": async (t) => {
      const [old, both] = [await connectWith(t, "old"), await connectWith(t, "both")];
      await old.startMany(Array.from({ length: 60 }, (_, i) => ({ workflow: echo, input: `input ${i}` })));
      let cursor: string | null = null;
      const broken = await refusalOf(() =>
        both.reencode({
          onProgress: (progress) => {
            cursor = progress.cursor;
            throw new Error(`stopped after ${progress.rewritten} of ${progress.runs} runs`);
          },
        }),
      );
      expect(broken).toMatchObject({ message: "stopped after 50 of 50 runs" });
      expect(await both.reencode({ dryRun: true })).toMatchObject({ runs: 60, left: 10 });
      const progress = await both.reencode({ cursor: cursor as unknown as string, perSecond: 1_000 });
      expect(progress).toEqual({ runs: 10 + 60, rewritten: 10, left: 0, unreadable: 0, cursor: null });
    },

    "re-encodes only what is asked for": async (t) => {
      const [old, both] = [await connectWith(t, "old"), await connectWith(t, "both")];
      const [a] = [await old.start(echo, "a"), await old.start(waits, "b")];
      expect(await both.reencode({ filter: { workflow: "echo" } })).toMatchObject({ rewritten: 1, left: 0 });
      const only = await connectWith(t, "new");
      expect(await only.get(echo, a.id).describe()).toMatchObject({ input: "a" });
      expect(await both.reencode({ dryRun: true })).toMatchObject({ left: 1 });
    },

    "counts what it cannot read, says why once, and leaves it alone": async (t) => {
      const old = await connectWith(t, "old");
      const runs = await old.startMany(["a", "b"].map((input) => ({ workflow: echo, input })));
      const warnings: object[] = [];
      const warn = (fields: object): void => void warnings.push(fields);
      const logger = { debug() {}, info() {}, warn, error() {} };
      const only = await t.connect({ codec: codecs.new, logger });
      expect(await only.reencode()).toMatchObject({ rewritten: 0, left: 2, unreadable: 2 });
      const reason = expect.stringContaining('the key "old"');
      expect(warnings).toEqual([
        expect.objectContaining({ part: "input", number: 0, code: "codec_key_missing", reason }),
      ]);
      expect(await old.get(runs[0]?.id ?? "").describe()).toMatchObject({ input: "a" });
    },

    "encrypts what was not encrypted, and decrypts it again": async (t) => {
      const job = task("job", (text: string) => `${text} done`);
      const main = workflow("main", (ctx, text: string) => ctx.task(job, text));
      const plain = await t.connect({ codec: json() });
      await plain.worker({ workflows: [main], tasks: [job] }).start();
      const run = await plain.start(main, "work");
      await run.result();
      const history = await run.history();
      const both = await connectWith(t, "both");
      const { rewritten } = await both.reencode();
      await expect(run.result()).rejects.toMatchObject({ code: "codec_key_missing" });
      const back = await t.connect({ codec: { ...codecs.both, ...decrypting() } });
      expect(await back.reencode()).toMatchObject({ rewritten, left: 0 });
      expect(await run.history()).toEqual(history);
    },

    "needs a codec that can tell old values from new ones": async (t) => {
      const { name, encode, decode } = json();
      const client = await t.connect({ codec: { name, encode, decode } });
      const refused = { code: "invalid_option", message: expect.stringContaining("has no method reencode(payload)") };
      await expect(client.reencode()).rejects.toMatchObject(refused);
      const { perSecond } = { perSecond: 0 };
      await expect(client.reencode({ perSecond })).rejects.toMatchObject({ code: "invalid_option" });
    },
  },
};

/** A codec of one's own: reads what is encrypted, and writes JSON. */
function decrypting() {
  const { encode } = json();
  const reencode = (payload: Uint8Array): Uint8Array =>
    payload[0] === 3 ? encode(codecs.both.decode(payload), "value") : payload;
  return { encode, reencode };
}

/** All that a client can read of the runs of its namespace. */
async function everything(client: Client) {
  const { runs } = await client.list({ limit: 1_000 });
  const tasks = await client.tasks.list({});
  const read = runs.map(async ({ id, runId }) => {
    const run = client.get(id);
    return [runId, await run.describe(), await run.history(), await run.steps()];
  });
  return [...(await Promise.all(read)), ...(tasks.tasks.length > 0 ? [tasks] : [])];
}
