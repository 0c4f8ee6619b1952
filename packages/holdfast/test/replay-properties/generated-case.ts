import fc from "fast-check";
import type { RunMachine } from "../../src/replay/run-machine.ts";
import { TurnLoop } from "../../src/replay/turn-loop.ts";
import { type Code, checkEveryPrefix, checkSameFuture, crashAndGoOn, playLive } from "./exactness.ts";
import { immediate } from "./immediate.ts";
import { bodyOf, World } from "./interpreter.ts";
import type { Cut, LiveRun } from "./live-run.ts";
import { Mismatch } from "./mismatch.ts";
import { describePlan, type Plan, PlanScript, plans } from "./moves.ts";
import { nodesOf, type Program } from "./program.ts";
import { programs } from "./program-arbitrary.ts";
import { pseudoCode } from "./pseudo-code.ts";
import { isOfWorkflow } from "./rejections.ts";

/** A program, what the world does to it, where its worker crashes, and what else might have happened afterwards. */
export interface Case {
  readonly program: Program;
  readonly plan: Plan;
  readonly crash: number;
  readonly otherPlan: Plan;
}

export const cases: fc.Arbitrary<Case> = fc.record({
  program: programs,
  plan: plans,
  crash: fc.nat(),
  otherPlan: plans,
});

export function describeCase({ program, plan, crash, otherPlan }: Case): string {
  return [
    pseudoCode(program),
    "",
    "what happens:",
    ...describePlan(plan),
    `crash at the place number ${crash}, modulo the number of places; what happens then, in another world:`,
    ...describePlan(otherPlan),
  ].join("\n");
}

export function codeOf(program: Program): Code {
  const world = new World();
  return { body: bodyOf(program, world), log: world.log };
}

/** Everything that must hold for one case. Returns the live run, for the statistics. */
export async function checkCase({ program, plan, crash, otherPlan }: Case): Promise<LiveRun> {
  const make = (): Code => codeOf(program);
  const live = await playLive(make(), new PlanScript(plan));
  await checkEveryPrefix(live, make);
  checkEnd(live, program, plan);

  const resting = live.cuts.filter((cut) => cut.resting);
  const cut = resting[crash % resting.length] as Cut;
  const loop = new TurnLoop(immediate);
  const [resumed, other] = await Promise.all([
    crashAndGoOn(live, cut, make, new PlanScript(plan, cut.position), loop),
    crashAndGoOn(live, cut, make, new PlanScript(otherPlan), loop),
  ]);
  checkSameFuture(live, resumed, cut);
  await checkEveryPrefix(other, make, cut.snapshot.seq);
  return live;
}

/** What has nothing to do with replay, but would make the comparison pointless if it were wrong. */
function checkEnd(live: LiveRun, program: Program, plan: Plan): void {
  const { machine } = live;
  const { outcome } = machine;
  if (outcome?.type === "failed" && !isOfWorkflow(outcome.error)) throw outcome.error;
  if (outcome) return;
  // A retired op waits for nothing: it only stands for a record that an older history may have.
  const waited = machine.ops.pending().filter((op) => op.kind !== "retired");
  const stray = waited.find((op) => op.scope.cancellation() && !op.step?.closing);
  if (stray) throw new Mismatch(`"${stray.id}" is still waited for though it was canceled`, live, live);
  // Only a chain that awaits another (or itself) can wait for ever.
  const mayHang = nodesOf(program.body).some((node) => node.type === "join");
  if (plan.toTheEnd && !mayHang && !isWaiting(machine)) throw new Mismatch("the code waits for nothing", live, live);
}

function isWaiting(machine: RunMachine): boolean {
  return machine.ops.pending().some((op) => op.kind !== "retired");
}
