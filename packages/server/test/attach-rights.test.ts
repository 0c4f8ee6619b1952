// A stream lasts; the key that opened it and the lease of its worker may not.
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { AdminService, type AttachRequestSchema, Role, WorkerService } from "@holdfast/protocol";
import { openClients, systemPorts } from "holdfast/adapter";
import { afterAll, expect, test } from "vitest";
import { createKey } from "../src/index.ts";
import { type ServerUnderTest, serverUnderTest } from "./server-under-test.ts";

type Message =
  Parameters<ReturnType<typeof createClient<typeof WorkerService>>["attach"]>[0] extends AsyncIterable<infer M>
    ? M
    : typeof AttachRequestSchema;

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => void systemPorts.clock.setTimer(ms, () => resolve()));

const opened: ServerUnderTest[] = [];
afterAll(() => Promise.all(opened.map((t) => t.close())));

async function newServer(...args: Parameters<typeof serverUnderTest>): Promise<ServerUnderTest> {
  const t = await serverUnderTest(...args);
  opened.push(t);
  return t;
}

/** A worker on a stream with credits for ten; `ended` is how the stream ends. */
async function attached(t: ServerUnderTest, token: string | undefined, leaseSecs: number) {
  const client = createClient(WorkerService, t.transport(token ? { token } : {}));
  const offer = { taskQueue: "default", workflowTypes: ["song"], leaseSecs, namespace: "default" };
  const { workerId } = await client.register(offer);
  const messages: Message[] = [
    { call: 1n, message: { case: "hello", value: { workerId, namespace: "default" } } } as Message,
    { message: { case: "credits", value: { more: 10 } } } as Message,
  ];
  let wake = (): void => {};
  async function* all(): AsyncGenerator<Message> {
    for (;;) {
      for (let next = messages.shift(); next; next = messages.shift()) yield next;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  const work: string[] = [];
  let onReady = (): void => {};
  const ready = new Promise<void>((resolve) => {
    onReady = resolve;
  });
  const ended = (async () => {
    for await (const { message } of client.attach(all() as never)) {
      if (message.case === "ready") onReady();
      if (message.case === "task") work.push(message.value.runId);
    }
  })().then(
    () => undefined,
    (error: unknown) => ConnectError.from(error).code,
  );
  await ready;
  const say = (message: object): void => {
    messages.push(message as Message);
    wake();
  };
  return { workerId, work, ended, say };
}

// Both wait for the machine's clock: at the same time.
test.concurrent("a stream whose key was revoked gets no work, completes nothing, and ends", {
  timeout: 60_000,
}, async () => {
  const t = await newServer({ auth: "keys" });
  const clients = await openClients(t.store);
  const asked = { name: "first", role: "admin", namespace: "*", expiresAt: null } as const;
  const { token: admin } = await createKey(clients.opened.access as never, systemPorts.random, asked);
  const keys = createClient(AdminService, t.transport({ token: admin }));
  const { token, info } = await keys.createToken({ namespace: "default", role: Role.WORKER });
  const guest = await attached(t, token, 60);
  await keys.revokeToken({ namespace: "default", id: info?.id ?? "" });
  // What is known of a key is remembered for five seconds of the machine's clock.
  await pause(5_500);
  const hf = await t.connect();
  const run = await hf.start("song", 1);
  expect(await guest.ended).toBe(Code.Unauthenticated);
  expect(guest.work).toEqual([]);
  const other = await attached(t, admin, 60);
  while (other.work.length === 0) await pause(20);
  expect(other.work).toEqual([run.runId]);
});

test.concurrent("a worker whose lease has expired gets no more work on its stream: it must register again", async () => {
  const t = await newServer();
  const guest = await attached(t, undefined, 5);
  // The shortest lease is five seconds of the machine's clock.
  await pause(5_500);
  const hf = await t.connect();
  const run = await hf.start("song", 1);
  expect(await guest.ended).toBe(Code.NotFound);
  expect(guest.work).toEqual([]);
  const client = createClient(WorkerService, t.transport());
  const poll = client.pollTask({ workerId: guest.workerId, namespace: "default" } as never);
  await expect(poll).rejects.toMatchObject({ code: Code.NotFound });
  const other = await attached(t, undefined, 60);
  while (other.work.length === 0) await pause(20);
  expect(other.work).toEqual([run.runId]);
  expect(await hf.get({ runId: run.runId }).describe()).toMatchObject({ status: "running" });
});
