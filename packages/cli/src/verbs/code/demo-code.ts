/** What `dev --demo` runs: a shop, with everything that can happen to an order. */
import { NonRetryableError, query, signal, task, workflow } from "holdfast";
import { wait } from "../../io/process-io.ts";

export const approve = signal<{ by: string }>("approve");
export const paid = signal<{ cents: number }>("paid");
const progress = query<string>("progress");

interface Order {
  readonly customer: string;
  readonly cents: number;
  /** What is to go wrong. */
  readonly fault?: "declined" | "network" | "warehouse" | "refund";
  readonly slowMs?: number;
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

export const sendMail = task({ name: "send-mail", queue: "mail" }, async ({ to }: { to: string }) => `sent to ${to}`);
export const sendLetter = task(
  { name: "send-letter", queue: "mail", retry: { attempts: 2, fixed: "200ms" } },
  async ({ to }: { to: string }): Promise<string> => {
    throw failure("EPAPER", `the printer has no paper for ${to}`);
  },
);
export const encode = task({ name: "encode", queue: "video", heartbeat: "1m" }, async (film: string, t) => {
  for (let percent = 1; ; percent++) {
    await t.heartbeat({ film, percent: Math.min(99, percent) });
    await wait(5_000, t.signal);
    t.signal.throwIfAborted();
  }
});
export const inspect = task<{ parcel: string }, { ok: boolean }>({ name: "inspect", external: true });

export const order = workflow({ name: "order", version: "2", queries: [progress] }, async (ctx, input: Order) => {
  let at = "reserving";
  ctx.on(progress, () => at);
  ctx.set({ customer: input.customer, cents: input.cents });
  await ctx.step("reserve", () => ({ shelf: "B-12" }), { compensate: () => undefined });
  at = "charging";
  const payment = await ctx.step(
    "charge",
    (s) => {
      if (input.fault === "declined") throw failure("CARD_DECLINED", `the card of ${input.customer} was declined`);
      if (input.fault === "network") throw failure("ECONNRESET", "connect ECONNRESET 10.0.4.7:443");
      if (s.attempt === 1 && input.cents % 3 === 0) throw failure("ECONNRESET", "socket hang up");
      return { id: `pay-${input.cents}`, cents: input.cents };
    },
    {
      retryIf: (error) => (error as { code?: string }).code === "ECONNRESET",
      retry: { attempts: 20, initial: input.fault === "network" ? "20m" : "50ms", factor: 2 },
      compensate: () => {
        if (input.fault === "refund") throw new NonRetryableError("the bank refuses the refund");
      },
    },
  );
  at = "shipping";
  if (input.fault === "warehouse" || input.fault === "refund")
    await ctx.step(
      "ship",
      () => {
        throw failure("OUT_OF_STOCK", "there is nothing on shelf B-12");
      },
      { retry: "none" },
    );
  const parcel = await ctx.step("ship", async (s) => {
    if (input.slowMs) await wait(input.slowMs, s.signal);
    s.signal.throwIfAborted();
    return { parcel: `p-${input.cents}` };
  });
  await ctx.task(sendMail, { to: input.customer });
  return { payment: payment.id, ...parcel };
});

/** The version before: there are still runs of it. */
export const oldOrder = workflow({ name: "order", version: "1" }, async (ctx, input: Order) => {
  await ctx.step("charge", () => `pay-${input.cents}`);
  await ctx.sleep("return period", "14 days");
  return "closed";
});

export const refund = workflow("refund", async (ctx, input: { order: string; cents: number }) => {
  await ctx.step("check", () => input.cents < 100_000);
  const ok = await ctx.receive(approve, { timeout: "3 days" });
  if (ok === undefined) throw new Error("nobody has approved it");
  return ctx.step("pay back", () => ({ cents: input.cents, by: ok.by }));
});

export const onboarding = workflow("onboarding", async (ctx, input: { user: string }) => {
  await ctx.step("create account", () => input.user);
  for (const day of [1, 3, 7]) {
    await ctx.sleep(`day ${day}`, `${day} days`);
    await ctx.task(sendMail, { to: input.user });
  }
  return "done";
});

export const bundle = workflow("bundle", async (ctx, input: { orders: readonly Order[] }) => {
  return ctx.parallel(
    input.orders.map((one, index) => () => ctx.child(order, one, { id: `${ctx.info.id}-${index + 1}` })),
  );
});

export const film = workflow("film", async (ctx, input: { title: string }) => ctx.task(encode, input.title));
export const parcelCheck = workflow("parcel-check", async (ctx, input: { parcel: string }) => ctx.task(inspect, input));
export const letter = workflow("letter", async (ctx, input: { to: string }) => ctx.task(sendLetter, input));

export const invoice = workflow(
  { name: "invoice", queue: "invoices" },
  async (ctx, input: { tenant: string; n: number }) => {
    await ctx.step("collect", () => input.n);
    await ctx.sleep("bank holiday", "2 hours");
    return ctx.step("send", () => `invoice ${input.n}`);
  },
);

export const meter = workflow("meter", async (ctx, input: { readings: number }) => {
  const reading = await ctx.step("read", () => input.readings + 1);
  if (reading < 3) return ctx.continueAsNew({ readings: reading });
  await ctx.receive(paid);
  return reading;
});

export const quote = workflow("quote", async (ctx, input: { kind: "car" | "house" | "boat" }) => {
  await ctx.step("load", () => input.kind);
  if (input.kind === "boat") (undefined as unknown as { price(): void }).price();
  const price = await ctx.step(input.kind === "car" ? "price of a car" : "price of a house", () => 4_711);
  return ctx.step("offer", () => ({ price }));
});

export const report = workflow("nightly-report", async (ctx) => {
  const rows = await ctx.step("read", () => 42);
  await ctx.sleep("settle", "2s");
  return ctx.step("write", () => `${rows} rows`);
});
