import { countsBetween, type Snapshots } from "../lab/counters.ts";
import type { EngineDefinition, Figures } from "../lab/engine.ts";
import { ratioGoal, STORES, type Workload } from "../lab/workload.ts";
import type { Medians } from "../report/medians.ts";
import { settle, warm, within } from "./flow.ts";

const GROWTHS = [
  ["postgres", "PostgreSQL", "statementsGrowth", "statements"],
  ["postgres", "PostgreSQL", "walBytesGrowth", "WAL bytes"],
  ["sqlite", "SQLite", "writtenBytesGrowth", "bytes written"],
] as const;

export const long: Workload = {
  name: "long",
  title: "One run with 10,000 sequential steps",
  about:
    "Statements and bytes of the first tenth next to those of the last tenth, counted while the run is paused between two steps; the pause is subtracted from the time. The bare figure is the same commits, one after the other. Peers get 1,000 steps (OpenWorkflow 900).",
  sizes: {
    tiny: { steps: 40, warm: 5 },
    normal: { steps: 10_000, warm: 50 },
    full: { steps: 10_000, warm: 50 },
  },
  peerSizes: { tiny: { steps: 20, warm: 5 }, normal: { steps: 1_000, warm: 50 }, full: { steps: 1_000, warm: 50 } },
  once: "peers",
  parts: {
    main: async (inside) => {
      const { engine, hooks, size, mark } = inside;
      const { steps = 0 } = size;
      const tenth = Math.floor(steps / 10);
      await warm(inside, 3);
      await mark("begin");
      let stoodStillMs = 0;
      const stages: Readonly<Record<number, string>> = {
        1: "first",
        [tenth + 1]: "head",
        [steps - tenth]: "tail",
        [steps]: "last",
      };
      hooks.onStep = (_id, i) => {
        const stage = stages[i];
        if (stage === undefined) return;
        const since = performance.now();
        return mark(stage).then(() => {
          stoodStillMs += performance.now() - since;
        });
      };
      const stepsBefore = hooks.steps;
      const ended = hooks.untilFinished(1);
      const began = performance.now();
      await engine.start("seq", "long", steps);
      await within(
        ended.then(() => settle(engine)),
        `${steps} steps`,
      );
      const seconds = (performance.now() - began - stoodStillMs) / 1000;
      await mark("finish");
      const did = hooks.steps - stepsBefore;
      return { runs: 1, steps: did, stepsTooMany: did - steps, tenth, seconds, msPerStep: (seconds * 1000) / steps };
    },
  },
  counted: (snapshots, figures, engine) => growth(snapshots, figures, engine),
  shown: [
    { figure: "msPerStep", title: "ms per step", digits: 3, better: "lower", chart: true },
    { figure: "seconds", title: "seconds", digits: 2, better: "lower" },
    { figure: "statementsPerStep", title: "statements per step", digits: 3, better: "lower" },
    { figure: "walBytesPerStep", title: "WAL bytes per step", better: "lower" },
    { figure: "statementsGrowth", title: "statements, last / first tenth", digits: 3, better: "lower" },
    { figure: "walBytesGrowth", title: "WAL bytes, last / first tenth", digits: 3, better: "lower" },
    { figure: "writtenBytesGrowth", title: "bytes written, last / first tenth", digits: 3, better: "lower" },
    { figure: "timeGrowth", title: "time, last / first tenth", digits: 2, better: "lower" },
  ],
  goals: [
    ...GROWTHS.map(([store, title, figure, what]) => ({
      text: `10,000 sequential steps on ${title}: ${what} per step of the last tenth over the first`,
      figure: (m: Medians) => m.value("long", `holdfast-${store}`, figure),
      atMost: 1.05,
      unit: "times",
    })),
    ...STORES.map(([store, title]) =>
      ratioGoal({
        text: `10,000 sequential steps on ${title}: time over that of the bare sequential commits`,
        of: ["long", "msPerStep"],
        over: `holdfast-${store}`,
        under: [`bare-${store}`],
        atMost: 2,
      }),
    ),
  ],
};

function growth(snapshots: Snapshots, figures: Figures, engine: EngineDefinition): Figures {
  const { steps = 1, tenth = 1 } = figures;
  const [begin, finish] = [snapshots.get("begin"), snapshots.get("finish")];
  const all = begin && finish ? countsBetween(begin, finish, steps) : {};
  const [first, head, tail, last] = ["first", "head", "tail", "last"].map((name) => snapshots.get(name));
  if (!first || !head || !tail || !last || engine.kind === "limit") return all;
  const early = countsBetween(first, head, tenth);
  const late = countsBetween(tail, last, tenth);
  const found: Figures = { ...all, timeGrowth: (last.at - tail.at) / (head.at - first.at) };
  for (const name of ["statements", "walBytes", "writtenBytes"]) {
    const [before, after] = [early[`${name}PerStep`], late[`${name}PerStep`]];
    if (before && after !== undefined) found[`${name}Growth`] = after / before;
  }
  return found;
}
