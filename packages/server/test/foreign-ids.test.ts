// Every call that names something, with the name of something that another namespace has: it finds nothing, and changes nothing.
import { create, type DescMethod, toJsonString } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { workflow } from "holdfast";
import { openClients, systemPorts } from "holdfast/adapter";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKey } from "../src/index.ts";
import { SERVICES, type ServerUnderTest, serverUnderTest } from "./server-under-test.ts";

/** They make what they name; a fork has an id of its own. */
const MAKING = ["StartWorkflow", "CreateWorkflowSchedule", "CreateNamespace", "ForkWorkflow externalId"];
/** Answered with what is true of nothing: no runs, not accepted, nothing to give back. */
const EMPTY = ["ListScheduleRuns", "Heartbeat", "Deregister"];
const NAMES = ["externalId", "scheduleId", "workerId", "id", "taskToken"];

let t: ServerUnderTest;
let token = "";
const theirs: Record<string, string> = {};

beforeAll(async () => {
  t = await serverUnderTest({ auth: "keys" });
  const { access } = (await openClients(t.store)).opened;
  const key = { name: "", role: "admin", expiresAt: null } as const;
  token = (await createKey(access!, systemPorts.random, { ...key, namespace: "shop" })).token;
  const other = await t.connect("other");
  const secret = workflow("secret-of-theirs", async (ctx) => ctx.sleep("long", "1 day"));
  await other.worker({ workflows: [secret], name: "their-worker" }).start();
  await other.start(secret, undefined, { id: "their-run" });
  await other.schedules.create({ id: "their-schedule", workflow: secret, cron: "0 3 * * *" });
  const [worker] = await other.workers.list();
  theirs["externalId"] = "their-run";
  theirs["scheduleId"] = "their-schedule";
  theirs["workerId"] = worker?.workerId ?? "";
  theirs["id"] = (await createKey(access!, systemPorts.random, { ...key, namespace: "other" })).id;
  theirs["taskToken"] = `${worker?.workerId}.1.1`;
});
afterAll(() => t.close());

const named = SERVICES.flatMap(({ methods }) => methods)
  .filter(({ name, methodKind }) => methodKind === "unary" && !MAKING.includes(name))
  .flatMap((method) =>
    NAMES.filter(
      (name) =>
        !MAKING.includes(`${method.name} ${name}`) && method.input.fields.some(({ localName }) => localName === name),
    ).map((name) => [method.name, name, method] as const),
  );

describe.each(named)("%s with the %s of another namespace", (call, name, method: DescMethod) => {
  test("finds nothing, and tells nothing", async () => {
    const rest = { namespace: "shop", name: "x", before: "1", stepName: "x", cronExpr: "0 4 * * *" };
    const own = Object.entries({ ...rest, [name]: theirs[name] }).filter(([key]) =>
      method.input.fields.some(({ localName }) => localName === key),
    );
    const message = create(method.input, Object.fromEntries(own) as never);
    let code = "ok";
    let said = "";
    try {
      const answer = await t.transport({ token }).unary(method as never, undefined, 2_000, undefined, message as never);
      said = toJsonString(method.output, answer.message as never);
    } catch (error) {
      code = Code[ConnectError.from(error).code] as string;
      said = ConnectError.from(error).message;
    }
    expect(said).not.toContain("secret-of-theirs");
    expect(said).not.toContain("their-worker");
    if (EMPTY.includes(call)) expect([code, said.length < 60]).toEqual(["ok", true]);
    // A token that nobody has given out may also be told by its form.
    else expect(name === "taskToken" ? ["NotFound", "Aborted", "InvalidArgument"] : ["NotFound"]).toContain(code);
  });
});

test("afterward they have what they had", async () => {
  const other = await t.connect("other");
  expect(named.length).toBeGreaterThan(20);
  expect((await other.schedules.get("their-schedule").describe()).status).toBe("scheduled");
  expect((await other.schedules.list()).schedules).toHaveLength(1);
  expect(await other.get("their-run").status()).toBe("sleeping");
  expect(await other.workers.list()).toMatchObject([{ name: "their-worker", status: "online" }]);
  const { access } = (await openClients(t.store)).opened;
  expect((await access!.readKey({ id: theirs["id"] as string }))?.key.revokedAt).toBe(null);
});
