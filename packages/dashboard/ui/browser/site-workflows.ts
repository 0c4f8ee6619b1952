// The workflows behind the site of the browser tests: one run in every state, and texts that want to be more than text.
import { RetryableError, signal, task, workflow } from "holdfast";

export const approve = signal<{ by: string }>("approve");
export const reserve = task({ name: "reserve", queue: "stock" }, async () => ({ shelf: "B4" }));
export const inspection = task<{ order: string }, { ok: boolean }>({ name: "inspection", external: true });

/** What a payload, an id, an error or an attribute may contain. */
export const HOSTILE = [
  `<img src=x onerror="window.__hacked=1">`,
  `<script>window.__hacked=1</script>`,
  `javascript:window.__hacked=1`,
  `"><svg onload=window.__hacked=1>`,
  "\u202eevil\u202c \u0007 \u0000",
  "{{constructor.constructor('window.__hacked=1')()}}",
  "__proto__",
  "'; rm -rf / #",
] as const;

const tax = workflow("tax", async (ctx, input: { cents: number }) => {
  return await ctx.step("rate", () => ({ vat: Math.round(input.cents * 0.16) }));
});

export interface OrderInput {
  readonly id: string;
  readonly cents: number;
  readonly ending?: "wait" | "complete" | "fail" | "retry" | "sleep" | "bug";
}

const order = workflow({ name: "order", version: "3" }, async (ctx, input: OrderInput) => {
  await ctx.step("validate", () => ({ ok: true }));
  const [payment] = await Promise.all([
    ctx.step(
      "charge",
      (s) => {
        if (s.attempt < 3 && input.ending !== "complete") throw new RetryableError("RateLimitExceeded: 429 from bank");
        return { id: `pay_${input.id}`, cents: input.cents, at: new Date(0), card: "4242" };
      },
      { retry: { attempts: 5, fixed: "80ms" }, compensate: () => undefined },
    ),
    ctx.task(reserve, {}, { compensate: () => undefined }),
  ]);
  await ctx.child(tax, { cents: input.cents });
  if (input.ending === "fail") throw new Error("card declined: the bank said no");
  if (input.ending === "retry") {
    await ctx.step("label", () => Promise.reject(new RetryableError("ECONNREFUSED carrier")), {
      retry: { attempts: 9, fixed: "1h" },
    });
  }
  if (input.ending === "sleep") await ctx.sleep("cool-off", "1 day");
  if (input.ending === "bug") (undefined as unknown as { x: () => void }).x();
  if (input.ending === "wait") await ctx.receive(approve, { timeout: "3 days" });
  return { payment: payment.id, label: "B4" };
});

const hostile = workflow("hostile", async (ctx, input: { readonly text: string }) => {
  await ctx.step("echo", () => ({ text: input.text, __proto__: null, nested: { [input.text]: input.text } }));
  await ctx.receive(approve);
  throw new Error(input.text);
});

const many = workflow("many", async (ctx, input: { readonly ops: number }) => {
  for (let index = 0; index < input.ops; index++) await ctx.sideEffect("tick", () => index);
  await ctx.receive(approve);
});

const inspected = workflow("inspected", async (ctx) => await ctx.task(inspection, { order: "o-1" }));

export const WORKFLOWS = { order, hostile, many, inspected, tax };
