import type { ClaimRunsResult, ClaimTasksResult, Debt, StartRun } from "holdfast/adapter";
import { memoryUnderTest } from "../memory-under-test.ts";
import type { OpenStore, StoreUnderTest } from "../store-under-test.ts";
import { comparableAnswer, wrongClaimOrder } from "./answer.ts";
import { type Answer, type Call, send } from "./call.ts";
import { isDecidable } from "./claim-call.ts";
import { comparable, readContents } from "./contents.ts";
import { Dice } from "./dice.ts";
import { differenceOf, type ValueDifference } from "./difference.ts";
import { type Footing, footingIn, refooted } from "./footing.ts";
import { brokenInvariants } from "./invariants.ts";
import { MAKERS, type Operation, type Subject } from "./operations.ts";
import { debtKey } from "./talks/contents.ts";
import { wrongTaskOrder } from "./tasks/answer.ts";
import { brokenTaskSteps } from "./tasks/invariants.ts";
import { Transcript } from "./transcript.ts";
import { World } from "./world.ts";

/** A call that was sent, when, and what it was made from. */
export interface TimedCall {
  readonly at: number;
  readonly call: Call;
  readonly footing: Footing;
}

/** The point where a store differs from the memory store. */
export interface Parting {
  /** The calls up to that point; the last one shows the difference. */
  readonly calls: readonly TimedCall[];
  readonly what: string;
  /** The memory store refused the call or broke on it: that says nothing about the other store. */
  readonly oracleFault: boolean;
  /** The other store threw. */
  readonly failed: boolean;
  readonly world: World;
}

/** Makes random calls to the memory store and to another one until they differ; undefined if they never do. */
export function tryOperations(
  open: OpenStore,
  operations: readonly Operation[],
  about: Subject,
): Promise<Parting | undefined> {
  const steps = operations.map(({ kind, seed, passMs }) => (world: World): Call | undefined => {
    world.now += passMs;
    return MAKERS[kind](world, new Dice(seed));
  });
  return compareStores(open, new World(about), steps);
}

/** Repeats calls that were made before, or some of them, on the footing that they find. */
export function tryCalls(open: OpenStore, calls: readonly TimedCall[], known: World): Promise<Parting | undefined> {
  const steps = calls.map(({ at, call, footing }) => (world: World): Call => {
    world.now = at;
    return refooted(call, footing, footingIn(world));
  });
  return compareStores(open, known.again(), steps);
}

async function compareStores(
  open: OpenStore,
  world: World,
  steps: readonly ((world: World) => Call | undefined)[],
): Promise<Parting | undefined> {
  const oracle = await memoryUnderTest();
  const tried = await open();
  if (!tried.setClock) throw new Error("stores can be compared only if tests can set their clocks: implement setClock");
  try {
    const calls: TimedCall[] = [];
    for (const step of steps) {
      const call = step(world);
      if (!call || !isDecidable(call, world) || startsPurged(call, world)) continue;
      await oracle.setClock?.(world.now);
      await tried.setClock(world.now);
      calls.push({ at: world.now, call, footing: footingIn(world) });
      const repeatable = isRepeatable(call, world);
      const difference = await compareCall(oracle, tried, call, world);
      if (difference) return { calls, ...difference, world };
      if (repeatable) world.calls.push(call);
    }
    return undefined;
  } finally {
    await oracle.close();
    await tried.close();
  }
}

/** Sends the call to both stores; returns what differs in the answers, or in the contents after it. */
async function compareCall(
  oracle: StoreUnderTest,
  tried: StoreUnderTest,
  call: Call,
  world: World,
): Promise<Pick<Parting, "what" | "oracleFault" | "failed"> | undefined> {
  const transcript = new Transcript(world.names);
  const [expected, found] = await Promise.all([
    send(oracle.store, call),
    send(tried.store, withOwnNumbers(call, world)),
  ]);
  const ofOracle = (what: string) => ({ what: transcript.text(what), oracleFault: true, failed: false });
  if ("error" in expected) return ofOracle(`the memory store refuses it: ${expected.error}`);
  const order = [expected, found].map((answer) => orderFault(call, answer, world)).find((fault) => fault !== undefined);
  const before = world.contents;
  world.note(await readContents(oracle.store, world.known));
  const broken = [...brokenInvariants(world.contents), ...brokenTaskSteps(before, world.contents, call)].join("; ");
  if (broken !== "") return ofOracle(`the memory store itself broke: ${broken}`);
  const contents = await readContents(tried.store, world.known);
  noteDebtNumbers(contents.debts, world);
  const isPurged = (idKey: string): boolean => world.isPurged(idKey);
  const difference =
    differenceOf(comparableAnswer(call, expected, world), comparableAnswer(call, found, world), "the answer") ??
    differenceOf(comparable(world.contents, isPurged), comparable(contents, isPurged), "the contents");
  const failure = "error" in found ? `this store fails: ${found.error}` : undefined;
  const what = failure ?? order ?? (difference && describe(difference, transcript));
  if (what === undefined) return undefined;
  return { what: transcript.text(what), oracleFault: false, failed: failure !== undefined };
}

/** Stores number debts as they like: the same call, with the numbers of the other store. */
function withOwnNumbers(call: Call, world: World): Call {
  if (call.method !== "debts.pay") return call;
  const debts = call.params.debts.map((debt) => ({ ...debt, debtNo: world.debtNumbers.get(debt.debtNo) ?? 999_999 }));
  return { ...call, params: { debts } };
}

function noteDebtNumbers(debts: readonly Debt[], world: World): void {
  if (debts.length === 0) return;
  const numbers = new Map(debts.map((debt) => [debtKey(debt), debt.debtNo]));
  for (const debt of world.contents.debts) {
    const number = numbers.get(debtKey(debt));
    if (number !== undefined && !world.debtNumbers.has(debt.debtNo)) world.debtNumbers.set(debt.debtNo, number);
  }
}

function orderFault(call: Call, answer: Answer, world: World): string | undefined {
  if ("error" in answer) return undefined;
  if (call.method === "runs.claim" && !call.params.again) {
    const fault = wrongClaimOrder(answer.value as ClaimRunsResult, world);
    return fault && `the claim took its runs in the wrong order: ${fault}`;
  }
  if (call.method === "tasks.claim" && !call.params.again) {
    const fault = wrongTaskOrder(answer.value as ClaimTasksResult, world);
    return fault && `the claim took its tasks in the wrong order: ${fault}`;
  }
  return undefined;
}

function describe({ path, expected, found }: ValueDifference, transcript: Transcript): string {
  return `${path}: memory says ${transcript.value(expected)}, this store ${transcript.value(found)}`;
}

/** A start repeated after its run was purged: no caller waits that long, and the contract does not define it. */
function startsPurged(call: Call, world: World): boolean {
  const purged = (starts: readonly StartRun[]): boolean => starts.some(({ run }) => world.purged.has(run.runId));
  if (call.method === "schedules.putIfRevision") return call.params.puts.some(({ starts }) => purged(starts));
  return call.method === "runs.start" && purged(call.params.starts);
}

/**
 * A read changes nothing, and a commit with a future number would be accepted later, when its contents no longer fit.
 */
function isRepeatable(call: Call, world: World): boolean {
  if (/\b(?:read|list|count|expired|position|replies|due|decisions)/.test(call.method)) return false;
  if (call.method !== "runs.commit") return true;
  const rows = new Map(world.contents.runs.map((run) => [run.runId, run]));
  return call.params.commits.every(({ runId, epoch, commit }) => {
    const row = rows.get(runId);
    return row !== undefined && epoch <= row.epoch && commit <= row.commit;
  });
}
