import { HoldfastError, type NewAuditEvent, systemPorts } from "holdfast/adapter";
import { MemoryAccessStore } from "holdfast/testing";
import { expect, test } from "vitest";
import { AuditLog } from "./audit-log.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const event = (subject: string) => ({
  actor: "ann",
  action: "CancelWorkflow",
  namespace: "shop",
  subject,
  outcome: "ok",
  address: "::1",
});

function auditOf(access: MemoryAccessStore): AuditLog {
  return new AuditLog({ access, ...systemPorts, log: silent });
}

async function subjects(access: MemoryAccessStore): Promise<string[]> {
  const events = await access.listAudit({ namespace: null, before: null, limit: 10 });
  return events.map(({ subject }) => subject).reverse();
}

test("texts of callers are escaped and cut before they are written", async () => {
  const access = new MemoryAccessStore(systemPorts.clock);
  const audit = auditOf(access);
  for (const subject of ["a", "x\u0000y\n", "\ud800", "b".repeat(500), "c"]) audit.add(event(subject));
  await audit.close();
  expect(await subjects(access)).toEqual(["a", "x\\u0000y\\u000a", "\\ud800", `${"b".repeat(399)}…`, "c"]);
});

test("an event that the store refuses costs no other one", async () => {
  class Picky extends MemoryAccessStore {
    override async addAudit(params: { readonly events: readonly NewAuditEvent[] }): Promise<void> {
      if (params.events.some(({ subject }) => subject === "bad")) throw new HoldfastError("store_refused", "no");
      return super.addAudit(params);
    }
  }
  const access = new Picky(systemPorts.clock);
  const audit = auditOf(access);
  for (const subject of ["a", "b", "bad", "c"]) audit.add(event(subject));
  await audit.close();
  expect(await subjects(access)).toEqual(["a", "b", "c"]);
});
