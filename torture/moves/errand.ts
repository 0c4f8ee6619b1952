import { signal, task, workflow } from "holdfast";

export const go = signal<string>("go");

/** What a run waits for in the middle: a time, a signal, a worker, a person. */
export const KINDS = ["sleep", "signal", "task", "person"] as const;
export type Kind = (typeof KINDS)[number];

export interface Errand {
  readonly kind: Kind;
  readonly napMs: number;
}

export const person = task<string, string>({ name: "person", external: true });

/** `note`: its effects, each of which must happen once. */
export function errands(note: (line: string) => void) {
  const fetch = task({ name: "fetch" }, async (id: string) => {
    note(`${id} fetch`);
    return "fetched";
  });
  const errand = workflow("errand", async (ctx, { kind, napMs }: Errand) => {
    const { id } = ctx.info;
    const did = (what: string) => ctx.step(what, () => note(`${id} ${what}`));
    await did("leave");
    await ctx.sleep("walk", { milliseconds: napMs });
    await did("arrive");
    let got = "nothing";
    if (kind === "signal") got = await ctx.receive(go);
    if (kind === "task") got = await ctx.task(fetch, id);
    if (kind === "person") got = await ctx.task(person, id);
    if (kind === "sleep") await ctx.sleep("rest", { milliseconds: napMs });
    await did("return");
    return `${kind} ${got}`;
  });
  return { errand, fetch };
}

/** How a run of this kind ends, and what it does. */
export function expected(id: string, kind: Kind): { readonly output: string; readonly effects: readonly string[] } {
  const got = { sleep: "nothing", signal: "go", task: "fetched", person: "done" }[kind];
  const steps = ["leave", "arrive", ...(kind === "task" ? ["fetch"] : []), "return"];
  return { output: `${kind} ${got}`, effects: steps.map((step) => `${id} ${step}`) };
}
