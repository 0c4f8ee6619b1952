/** The workloads about runs that talk to each other, and clients that talk to runs, while all of them may die. */
import { type Context, isHoldfastError, type StepInfo, signal, update, workflow } from "holdfast";
import { CHILD_DEFINITIONS, CHILD_WORKLOADS, digestOfSet, grown, NAPPER_OUTPUT, napper } from "./child-workloads.ts";
import { perform } from "./effect.ts";
import { digest, type Grown, outputOf, Trail } from "./trail.ts";
import { completed, type Saying, type Sent, type Workload } from "./workload.ts";

const ROUNDS = 3;
const BURST = 6;
const ping = signal<Sent>("ping");
const pong = signal<Sent>("pong");
/** Each answer is a number that no other update of the run gets. */
export const add = update<Sent, number>("add");
/** The text of an update that is refused. */
const REFUSED = "refuse";

// Signals in both directions, and results of other runs --------------------------------------------------------------

const echo = workflow("torture-echo", async (ctx, to: string) => {
  const trail = new Trail();
  const hear = async (): Promise<void> => {
    const { text, token } = await ctx.receive(ping);
    trail.note({ value: text, token });
  };
  for (let i = 0; i < ROUNDS; i++) {
    await hear();
    await trail.step(ctx, `echo-${i}`);
    await ctx.signal(to, pong, { text: `pong ${i}`, token: `pong:${ctx.info.runId}:${i}` });
  }
  for (let i = 0; i < BURST; i++) await hear();
  return grown(ctx, trail.output);
});

/** Even: with a child. Odd: with a run that a step has started, which is its own master. */
const talk = workflow("torture-talk", async (ctx, n: number) => {
  const trail = new Trail();
  const id = `${ctx.info.id}/echo`;
  const child = n % 2 === 0 ? await ctx.startChild(echo, ctx.info.id, { id }) : undefined;
  if (!child) await invite(ctx, trail, "invite", (s) => s.start(echo, ctx.info.id, { id }));
  const say = (i: number): Promise<void> => {
    const sent = { text: `ping ${i}`, token: `ping:${ctx.info.runId}:${i}` };
    return child ? child.signal(ping, sent) : ctx.signal(id, ping, sent);
  };
  for (let i = 0; i < ROUNDS; i++) {
    await say(i);
    const { text, token } = await ctx.receive(pong);
    trail.note({ value: text, token });
    await trail.step(ctx, `turn-${i}`);
  }
  for (let i = 0; i < BURST; i++) await say(ROUNDS + i);
  trail.note(child && n % 4 === 0 ? await child.result() : await ctx.resultOf(echo, id));
  await trail.step(ctx, "bye");
  return trail.output;
});

/** Starts a run in a step; a repeated attempt finds the run that it started before. */
async function invite(ctx: Context, trail: Trail, name: string, start: (s: StepInfo) => Promise<unknown>) {
  const seen = [...trail.seen];
  const value = digest([name, ...trail.values]);
  const run = (s: StepInfo): Promise<Grown> =>
    perform({ value, seen, attempt: s.attempt, failures: 1, dwellMs: 5, during: async () => void (await start(s)) });
  trail.note(await ctx.step(name, run, { retry: { attempts: 4, fixed: "60ms" } }));
}

function echoOutput(): string {
  const talked = Array.from({ length: ROUNDS }, (_, i) => [`:ping ${i}`, `echo-${i}`]).flat();
  return outputOf([...talked, ...Array.from({ length: BURST }, (_, i) => `:ping ${ROUNDS + i}`)]);
}

function talkOutput(n: number): string {
  const turns = Array.from({ length: ROUNDS }, (_, i) => [`:pong ${i}`, `turn-${i}`]).flat();
  return outputOf([...(n % 2 === 0 ? [] : ["invite"]), ...turns, `:${echoOutput()}`, "bye"]);
}

const listener = workflow("torture-listener", async (ctx, to: string) => {
  const trail = new Trail();
  await trail.step(ctx, "sit");
  trail.note(await ctx.resultOf(napper, to));
  await trail.step(ctx, "clap");
  return grown(ctx, trail.output);
});

/** Several runs wait for the end of one, and one of them waits for the others. */
const audience = workflow("torture-audience", async (ctx, n: number) => {
  const trail = new Trail();
  const { id } = ctx.info;
  const actor = await ctx.startChild(napper, n, { id: `${id}/actor` });
  for (const i of [0, 1])
    await invite(ctx, trail, `invite-${i}`, (s) => s.start(listener, actor.id, { id: `${id}/listener-${i}` }));
  const all = await Promise.all([
    ctx.resultOf(actor),
    ctx.resultOf(listener, `${id}/listener-0`),
    ctx.resultOf(listener, `${id}/listener-1`),
  ]);
  trail.note(...all);
  await trail.step(ctx, "leave");
  return trail.output;
});

function audienceOutput(): string {
  const heard = outputOf(["sit", `:${NAPPER_OUTPUT}`, "clap"]);
  return outputOf(["invite-0", "invite-1", `:${NAPPER_OUTPUT}`, `:${heard}`, `:${heard}`, "leave"]);
}

// Updates -------------------------------------------------------------------------------------------------------------

interface Counting {
  /** How many updates it waits for. */
  readonly want: number;
  /** After how many of them it continues as new; 0: never. */
  readonly hop: number;
  readonly done: number;
}

/** Handles that many updates, side by side, each of which takes a step; `ended` unless it is time to continue as new. */
async function count(ctx: Context, { want, hop, done }: Counting): Promise<{ ended: boolean; done: number }> {
  let sum = done;
  let busy = 0;
  ctx.on(add, {
    validate: ({ text }) => {
      if (text === REFUSED) throw new Error("refused as planned");
    },
    handle: async ({ token }) => {
      busy += 1;
      await new Trail([token]).step(ctx, "book");
      busy -= 1;
      sum += 1;
      return sum;
    },
  });
  await ctx.until(() => busy === 0 && (sum >= want || (hop > 0 && sum - done >= hop)));
  return { ended: sum >= want, done: sum };
}

const account = workflow("torture-account", async (ctx, input: Counting): Promise<Grown> => {
  const { ended, done } = await count(ctx, input);
  return ended ? grown(ctx, String(done)) : ctx.continueAsNew({ ...input, done });
});

/** A run that sends updates to its child, one of which is refused. */
const customer = workflow("torture-customer", async (ctx, n: number) => {
  const trail = new Trail();
  const want = 4 + (n % 3);
  const child = await ctx.startChild(account, { want, hop: n % 2 === 0 ? 0 : 2, done: 0 });
  const send = (text: string) => child.update(add, { text, token: `update:${ctx.info.runId}:${text}` });
  const refused = await send(REFUSED).catch((error: unknown) => (isHoldfastError(error) ? error.code : String(error)));
  const answers = await Promise.all(Array.from({ length: want }, (_, i) => send(String(i))));
  await trail.step(ctx, "check");
  const { value } = await child.result();
  return [refused, digestOfSet(answers), value];
});

function customerOutput(n: number): readonly string[] {
  const want = 4 + (n % 3);
  return ["update_rejected", digestOfSet(Array.from({ length: want }, (_, i) => i + 1)), String(want)];
}

/** A run to which clients send updates, and which continues as new between them. */
const till = workflow("torture-till", async (ctx, input: number | Counting): Promise<number> => {
  const now = typeof input === "number" ? { want: 4 + (input % 4), hop: input % 3, done: 0 } : input;
  const { ended, done } = await count(ctx, now);
  return ended ? done : ctx.continueAsNew({ ...now, done });
});

/** A run that nobody starts: it begins with what is first said to it. */
const room = workflow("torture-room", async (ctx, n: number) => {
  const trail = new Trail();
  const sum = count(ctx, { want: guests(n), hop: 0, done: 0 });
  for (let i = 0; i < notes(n); i++) await trail.receive(ctx);
  await trail.step(ctx, "close");
  return [(await sum).done, trail.output];
});

function guests(n: number): number {
  return 2 + (n % 3);
}

function notes(n: number): number {
  return 2 + (n % 4);
}

function saying(kind: Saying["kind"], n: number, i: number): Saying {
  return { kind, sent: { text: `${kind} ${i}`, token: `${kind}:${n}:${i}` } };
}

function sayings(kind: Saying["kind"], n: number, count: number): readonly Saying[] {
  return Array.from({ length: count }, (_, i) => saying(kind, n, i));
}

/** For the worker processes. */
export const TALKING_DEFINITIONS = [...CHILD_DEFINITIONS, echo, listener, account];

export const CONVERSATION_WORKLOADS: readonly Workload[] = [
  ...CHILD_WORKLOADS,
  {
    name: "talk",
    definition: talk,
    end: (n) => completed(talkOutput(n)),
    members: (_n, id) => [{ id: `${id}/echo`, expected: completed(echoOutput()) }],
  },
  {
    name: "audience",
    definition: audience,
    end: () => completed(audienceOutput()),
    members: (_n, id) => [{ id: `${id}/actor`, expected: completed(NAPPER_OUTPUT) }],
  },
  { name: "customer", definition: customer, end: (n) => completed(customerOutput(n)) },
  {
    name: "till",
    definition: till as Workload["definition"],
    end: (n) => completed(4 + (n % 4)),
    says: (n) => sayings("update", n, 4 + (n % 4)).map((one) => [one]),
  },
  {
    name: "room",
    definition: room,
    end: (n) => {
      const heard = sayings("signal-with-start", n, notes(n)).map(({ sent }) => `:${sent.text}`);
      return completed([guests(n), outputOf([...heard, "close"])]);
    },
    says: (n) => [
      sayings("signal-with-start", n, notes(n)),
      ...sayings("update-with-start", n, guests(n)).map((one) => [one]),
    ],
    begunBySaying: true,
  },
];

/** Names of the workflows whose runs have children. */
export const PARENTS: ReadonlySet<string> = new Set(
  ["family", "leaving", "canceled-parent", "terminated-parent", "undone", "rivals", "talk", "audience", "customer"]
    .map((name) => `torture-${name}`)
    .concat(["torture-nest", "torture-branch"]),
);
