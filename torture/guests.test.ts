/** Guests and their servers end at every call of a run: no step is recorded twice, and none that was confirmed is executed again. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { Code, ConnectError } from "@connectrpc/connect";
import { openServer, type Server } from "@holdfast/server";
import { type Client, connect, silentLogger } from "holdfast";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cut, Guest } from "./guest.ts";
import { GuestLedger } from "./guest-ledger.ts";
import { Servers } from "./servers.ts";
import { openStage, type Stage } from "./stage.ts";
import { bundleProgram, type WorkerBundle } from "./worker-bundle.ts";

/** Register, poll, begin, complete, begin, fail, poll, two begins, complete, begin, complete, sleep, poll, three begins, sleep, end. */
const CALLS_MAX = 20;
/** Up to the sleep: a run whose sleep has passed before the server answers ends with the next call. */
const CALLS_MIN = 13;
const PATIENCE_MS = 240_000;
const WORKFLOW = "order";

interface Place {
  readonly url: string;
  readonly schema: string;
  remove(): Promise<void>;
}

const PLACES: Readonly<Record<string, () => Promise<Place>>> = {
  async sqlite() {
    const folder = mkdtempSync(path.join(tmpdir(), "holdfast-guests-"));
    const remove = async (): Promise<void> => rmSync(folder, { recursive: true, force: true });
    return { url: `sqlite:${path.join(folder, "guests.db")}`, schema: "", remove };
  },
  async postgres() {
    const stage: Stage = await openStage(process.env.HOLDFAST_TEST_POSTGRES_URL ?? "");
    return { url: stage.place.url, schema: stage.place.schema ?? "", remove: () => stage.remove() };
  },
};

// They wait most of the time, for servers that start and for leases that end.
describe.concurrent.each(Object.keys(PLACES))("guests on %s", (name) => {
  let program: WorkerBundle;
  let place: Place;
  let hf: Client;

  beforeAll(async () => {
    program = await bundleProgram("server-process.ts");
    place = await (PLACES[name] as () => Promise<Place>)();
    hf = await connect(place.url, { logger: silentLogger, ...(place.schema ? { schema: place.schema } : {}) });
  }, PATIENCE_MS);

  afterAll(async () => {
    await hf.close();
    program.remove();
    await place.remove();
  });

  test(
    "go on after their server was killed, whichever call it was answering",
    async () => {
      const servers = new Servers([program.file, place.url, place.schema]);
      await servers.open(1);
      const ledger = new GuestLedger();
      let killed = 0;
      // On one store at all of them, on the other while they are answered.
      const stride = name === "sqlite" ? 1 : 2;
      for (let at = 1; at <= CALLS_MAX; at += stride) {
        const id = `server-${at}`;
        await hf.start(WORKFLOW, null, { id });
        let calls = 0;
        const around = async <R>(_name: string, call: () => Promise<R>): Promise<R> => {
          calls += 1;
          if (calls !== at) return call();
          // Every other time the answer has come, and nothing else.
          const answer = at % 2 === 0 ? await call() : call();
          const answered = Promise.resolve(answer).catch((error: unknown) => error);
          await servers.killOldest();
          await answered;
          throw new Cut();
        };
        for (let ended = false; !ended; )
          try {
            await new Guest({
              url: servers.url,
              workflow: WORKFLOW,
              around,
              effect: ledger.effect,
              confirmed: ledger.confirmed,
            }).runUntilEnd();
            ended = true;
          } catch (error) {
            if (!(error instanceof Cut) && ![Code.Unavailable, Code.Aborted].includes(ConnectError.from(error).code))
              throw error;
            if (error instanceof Cut) {
              killed += 1;
              await servers.start();
            }
            // The last call may have been the end.
            ended = (await hf.get(id).describe()).status === "completed";
          }
        await ledger.check(hf, id);
      }
      servers.end();
      expect(killed).toBeGreaterThanOrEqual(Math.ceil(CALLS_MIN / stride));
    },
    PATIENCE_MS,
  );

  test(
    "are followed by others when they die, at whichever call",
    async () => {
      const schema = place.schema ? { schema: place.schema } : {};
      const server: Server = await openServer({ url: place.url, ...schema, port: 0, logger: silentLogger });
      const ledger = new GuestLedger();
      const runs = Array.from({ length: CALLS_MAX }, (_, at) => `guest-${at}`);
      const dying = runs.map(async (id, at) => {
        const workflow = `${WORKFLOW}-${at}`;
        await hf.start(workflow, null, { id });
        let calls = 0;
        const around = async <R>(_name: string, call: () => Promise<R>): Promise<R> => {
          if (calls > at) throw new Cut();
          calls += 1;
          return call();
        };
        await new Guest({ url: server.url, workflow, around, effect: ledger.effect, confirmed: ledger.confirmed })
          .runUntilEnd()
          .catch((error: unknown) => {
            if (!(error instanceof Cut)) throw error;
          });
        // Nobody told the server: the run comes back once the lease is over.
        const after = new Guest({
          url: server.url,
          workflow,
          around: (_name, call) => call(),
          effect: ledger.effect,
          confirmed: ledger.confirmed,
        });
        if ((await hf.get(id).describe()).status !== "completed") await after.runUntilEnd();
        await ledger.check(hf, id);
      });
      await Promise.all(dying);
      await server.close();
    },
    PATIENCE_MS,
  );
});
