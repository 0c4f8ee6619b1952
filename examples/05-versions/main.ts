// New code for a workflow while runs of the old code are open: version 2 beside version 1, first for a share of the new
// runs, then for all of them. Version 1 is removed when its last run has ended.
import { connect, type RunStatus, signal, workflow } from "holdfast";

const OPEN: RunStatus[] = ["pending", "running", "sleeping", "waiting", "compensating", "parked"];
const paid = signal("paid");

const v1 = workflow({ name: "order", version: "1" }, async (ctx) => {
  const parcel = await ctx.step("pack", () => "a box");
  await ctx.receive(paid);
  return `${parcel} by mail`;
});

// Another order of steps: the histories of runs that have already packed do not match this code.
const v2 = workflow({ name: "order", version: "2" }, async (ctx) => {
  const courier = await ctx.step("find-courier", () => "Hermes");
  const parcel = await ctx.step("pack", () => "a box");
  await ctx.receive(paid);
  return `${parcel} by ${courier}`;
});

const hf = await connect("memory:");
const { versions } = hf;
const show = async (what: string) => {
  const rows = await versions.list("order");
  console.log(what.padEnd(26), rows.map((row) => `${row.version}${row.isDefault ? " (default)" : ""}`).join(", "));
};

// 1. Every run gets version 1. The default is set once, so that deploying version 2 changes nothing for new runs.
const before = hf.worker({ workflows: [v1] });
await before.start();
await versions.setDefault("order", "1");
const old = await hf.start("order", undefined, { id: "old" });
await show("at the beginning:");

// 2. Workers that have both versions. The waiting run stays on version 1.
const both = hf.worker({ workflows: [v1, v2] });
await both.start();
await before.drain();
await show("both are deployed:");

// 3. A canary: some of the new runs get version 2. How do they do?
await versions.canary("order", "2", 0.25);
const trial = await hf.startMany(Array.from({ length: 200 }, () => ({ workflow: "order" })));
const canaries = await hf.count({ workflow: "order", version: "2" });
await Promise.all(trial.map((run) => run.signal(paid)));
const shipped = await Promise.all(trial.map((run) => run.result()));
console.log("about a quarter on 2:     ", canaries > 20 && canaries < 80);
console.log("they use the courier:     ", shipped.filter((how) => how === "a box by Hermes").length === canaries);

// 4. Every new run gets version 2. To go back, set the default back.
await versions.setDefault("order", "2");
await versions.canary("order", "2", 0);
await versions.deprecate("order", "1");
await show("2 is the default:");
const fresh = await hf.start("order");
await fresh.signal(paid);
console.log("a new run:                ", await fresh.result());

// 5. Version 1 is needed as long as one of its runs is open.
const { runs } = await hf.list({ workflow: "order", version: "1", status: OPEN });
console.log("open runs of version 1:   ", runs.map((run) => run.id).join(", "));
await old.signal(paid);
for (const run of runs) console.log("its result:               ", await hf.get(run.id).result());
console.log("open runs of version 1:   ", await hf.count({ workflow: "order", version: "1", status: OPEN }));

// 6. Workers without version 1.
const after = hf.worker({ workflows: [v2] });
await after.start();
await both.drain();
console.log("workers offer:            ", (await hf.workers.list()).find((w) => w.status === "online")?.workflows);

await hf.close();
