import { Buffer } from "node:buffer";
import { packBody, requestBytes, STORE_CALL_TABLE } from "@holdfast/protocol/store";
import fc from "fast-check";
import { silentLogger } from "holdfast";
import { systemPorts } from "holdfast/adapter";
import { describe, expect, test } from "vitest";
import { StoreService } from "../../src/store-service/store-service.ts";
import { VERSION } from "../../src/store-service/version.ts";
import { memoryStore } from "./served-store.ts";
import { WORKER } from "./session-lab.ts";

const METHODS = [...STORE_CALL_TABLE.keys()];
const HELLO = requestBytes({ control: { case: "hello", value: { version: VERSION } } });

interface Raw {
  readonly sent: Buffer[];
  readonly over: () => boolean;
  send(bytes: Buffer): void;
}

function rawSession(service: StoreService): Raw {
  const sent: Buffer[] = [];
  let over = false;
  const end = (): void => {
    over = true;
  };
  const write = (bytes: Buffer): boolean => sent.push(bytes) > 0;
  const session = service.session({ write, pause: () => {}, resume: () => {}, end, destroy: end });
  return { sent, over: () => over, send: (bytes) => session.data(bytes) };
}

function open(): StoreService {
  const opened = memoryStore();
  return new StoreService({ ...opened, ...systemPorts, log: silentLogger });
}

const turn = (): Promise<void> => new Promise((resolve) => systemPorts.clock.immediate(resolve));

describe("bytes that no client of ours would send", () => {
  test("end their session, and nothing else", async () => {
    const service = open();
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 5, maxLength: 200 }), async (bytes) => {
        const raw = rawSession(service);
        raw.send(HELLO);
        raw.send(Buffer.from(bytes));
        await turn();
      }),
      { numRuns: 1_000 },
    );
    const good = rawSession(service);
    good.send(HELLO);
    good.send(requestBytes({ call: 1, method: "readClock", deadlineMs: 1_000 }));
    await turn();
    await turn();
    expect([good.over(), Buffer.concat(good.sent).length > 100]).toEqual([false, true]);
    service.close();
  });

  test("register no worker that could not be shown", async () => {
    const opened = memoryStore();
    const service = new StoreService({ ...opened, ...systemPorts, log: silentLogger });
    const raw = rawSession(service);
    raw.send(HELLO);
    const worker = {
      namespace: "default",
      workerId: WORKER,
      name: "w",
      queues: ["a"],
      workflows: [],
      labels: {},
      leaseMs: 5_000,
    };
    const wrong = [
      { queues: undefined },
      { workflows: ["order@1", 7] },
      { tasks: "all" },
      { labels: null },
      { labels: { region: 7 } },
      { about: null },
      { about: { options: "none" } },
      { name: undefined },
      { leaseMs: "5" },
    ];
    for (const [i, fields] of wrong.entries())
      raw.send(
        requestBytes({
          call: i + 1,
          method: "workers.register",
          deadlineMs: 1_000,
          body: packBody({ ...worker, ...fields }),
        }),
      );
    await turn();
    expect(await opened.store.workers.list({ namespace: "default" })).toEqual([]);
    raw.send(requestBytes({ call: 99, method: "workers.register", deadlineMs: 1_000, body: packBody(worker) }));
    await turn();
    expect(await opened.store.workers.list({ namespace: "default" })).toMatchObject([{ workerId: WORKER }]);
    service.close();
  });

  test("in the place of parameters are refused, whatever the call is, and the session goes on", async () => {
    const service = open();
    const raw = rawSession(service);
    raw.send(HELLO);
    let call = 0;
    const anything = fc.oneof(fc.anything(), fc.record({ namespace: fc.anything(), runs: fc.anything() }));
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...METHODS), anything, async (method, params) => {
        call += 1;
        const body = safelyPacked(params);
        raw.send(requestBytes({ call, method, deadlineMs: 1_000, body }));
        await turn();
      }),
      { numRuns: 1_500 },
    );
    const before = raw.sent.length;
    raw.send(requestBytes({ call: call + 1, method: "readClock", deadlineMs: 1_000 }));
    await turn();
    await turn();
    expect([raw.over(), raw.sent.length > before]).toEqual([false, true]);
    service.close();
  });
});

function safelyPacked(params: unknown): Uint8Array {
  try {
    return packBody(params);
  } catch {
    return new Uint8Array([0xc1]);
  }
}
