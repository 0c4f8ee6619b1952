// A worker writes its commits in the way that its server reads, whichever server that is by now.
import type { Buffer } from "node:buffer";
import {
  COMMIT_ROWS,
  MessageReader,
  readResponse,
  responseBytes,
  type SessionResponse,
  unpackBody,
} from "@holdfast/protocol/store";
import { type HistoryEvent, hookedStore, type RunCommit } from "holdfast/adapter";
import { expect, onTestFinished, test } from "vitest";
import { memoryStore } from "./served-store.ts";
import { gated, newId, until, WORKER } from "./session-lab.ts";
import { Wire } from "./wire.ts";

const payload = new Uint8Array([34, 34]);

function commitOf(runId: string, seq: number): RunCommit {
  const events: HistoryEvent[] = [{ seq, type: "step_completed", op: `work#${seq}`, at: 5, payload }];
  const base = { namespace: "default", runId, workerId: WORKER, epoch: 1, commit: seq === 1 ? 0 : 1 };
  const transition = seq === 1 ? ({ type: "hold", status: "running" } as const) : ({ type: "append" } as const);
  return { ...base, events, eventCount: seq, consumed: 0, attributes: null, clearDeadline: false, transition };
}

test("commits travel as columns to a server that reads them, and as objects to an older one that takes its place", async () => {
  const behind = memoryStore();
  const seen: RunCommit[] = [];
  const store = hookedStore(behind.store, {
    "runs.commit": ({ commits }) => {
      seen.push(...commits);
      const outcomes = commits.map(() => ({ outcome: "written", held: true, delivered: 0 }) as const);
      return Promise.resolve({ outcomes, messages: [], now: 7 });
    },
  });
  const wire = new Wire({ ...behind, store }, { caller: { allows: () => true } });
  let older = false;
  let openings = 0;
  const gate = gated();
  const asOlder = (response: SessionResponse): SessionResponse => {
    const { control } = response;
    if (older && control.case === "welcome")
      control.value.features = control.value.features.filter((feature) => feature !== COMMIT_ROWS);
    return response;
  };
  const opened = await wire.connect({
    openLink: async (events) => {
      openings += 1;
      if (openings > 1) await gate.opened;
      const reader = new MessageReader(1 << 30);
      const data = (chunk: Buffer): void => {
        for (const message of reader.read(chunk)) events.data(responseBytes(asOlder(readResponse(message))));
      };
      return wire.openLink({ data, drained: () => events.drained(), closed: (error) => events.closed(error) });
    },
  });
  onTestFinished(async () => {
    await opened.store.close();
    wire.service.close();
  });
  const forms = (): string[] =>
    wire.requests
      .filter(({ method }) => method === "runs.commit")
      .map(({ body }) => Object.keys(unpackBody(body) as object).join());
  const runId = newId();
  const sent = [1, 2, 3].map((seq) => commitOf(runId, seq));
  const commit = (at: number) => opened.store.runs.commit({ commits: [sent[at] as RunCommit] });
  const written = { outcomes: [{ outcome: "written" }] };
  expect(await commit(0)).toMatchObject(written);
  expect(await commit(1)).toMatchObject(written);
  older = true;
  wire.cut();
  await until(() => openings === 2);
  // It is packed before it is known which server takes it.
  const third = commit(2);
  gate.open();
  expect(await third).toMatchObject(written);
  expect(forms()).toEqual(["rows", "rows", "commits"]);
  expect(seen).toEqual(sent);
});
