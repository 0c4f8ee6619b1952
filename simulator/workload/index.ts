/** Every op that generated workflows use. A new op is one more file and one more line here. */
import { type AnyWorkflow, workflow } from "../../packages/holdfast/src/define/definitions.ts";
import type { Context } from "../../packages/holdfast/src/replay/context/context.ts";
import type { WorkloadSettings } from "../configuration.ts";
import { Dice } from "../dice.ts";
import type { Sight } from "../evidence.ts";
import { arbitrary } from "./arbitrary.ts";
import { attempt } from "./attempt.ts";
import { attributes } from "./attributes.ts";
import { child } from "./child.ts";
import { condition } from "./condition.ts";
import { failure } from "./failure.ts";
import { family } from "./family.ts";
import { handover } from "./handover.ts";
import { hearOut } from "./last-words.ts";
import { lock } from "./lock.ts";
import { mailbox } from "./mailbox.ts";
import { once } from "./once.ts";
import { parallel, runChain } from "./parallel.ts";
import { patched } from "./patched.ts";
import { notice, post, recall, sequel } from "./post.ts";
import type { Draft, Node, OpKind, Program, ProgramInput, Site, Stage } from "./program.ts";
import { race } from "./race.ts";
import { receive } from "./receive.ts";
import { retired } from "./retired.ts";
import { saga } from "./saga.ts";
import { shield } from "./shield.ts";
import { sideEffect } from "./side-effect.ts";
import { sleep } from "./sleep.ts";
import { spawn } from "./spawn.ts";
import { step } from "./step.ts";
import { register, Talk } from "./talk.ts";
import { approval, task } from "./task.ts";
import { transaction } from "./transaction.ts";
import { undo } from "./undo.ts";

const KINDS: ReadonlyMap<string, OpKind<never>> = new Map<string, OpKind<never>>(
  [
    step,
    once,
    transaction,
    saga,
    undo,
    sleep,
    receive,
    mailbox,
    parallel,
    race,
    attempt,
    shield,
    sideEffect,
    arbitrary,
    attributes,
    patched,
    retired,
    failure,
    task,
    approval,
    child,
    family,
    spawn,
    post,
    notice,
    recall,
    sequel,
    condition,
    handover,
    lock,
  ].map((kind) => [kind.kind, kind as OpKind<never>]),
);

export const OP_KINDS: readonly string[] = [...KINDS.keys()];

const DEPTH_MAX = 3;
/** How many other workflows a workflow starts: a planned one, its children, theirs, and so on. */
const CHILDREN_MAX = [2, 1, 1, 0] as const;

/** Children are small, and as runs that may be retried they have no races. */
function settingsOfChild(settings: WorkloadSettings): WorkloadSettings {
  const opWeights = { ...settings.opWeights, race: 0, handover: 0, mailbox: 0, approval: 0, sequel: 0 };
  return { ...settings, opsMax: 4, opWeights };
}

/** A run that holds a lock waits for nobody who may want it. */
function settingsInLock(settings: WorkloadSettings): WorkloadSettings {
  const none = { family: 0, spawn: 0, post: 0, notice: 0, recall: 0, sequel: 0, condition: 0 };
  return { ...settings, opWeights: { ...settings.opWeights, ...none } };
}

function withoutLocks(settings: WorkloadSettings): WorkloadSettings {
  return { ...settings, opWeights: { ...settings.opWeights, lock: 0 } };
}

export function drawProgram(seed: string, name: string, version: string, settings: WorkloadSettings): Program {
  const dice = new Dice(`program ${seed} ${name} ${version}`);
  const signals: { name: string; must: boolean }[] = [];
  const offspring: Program[] = [];
  const level = name.split(".").length - 1;
  const left = {
    ops: dice.int(settings.opsMax >> 1, settings.opsMax),
    letters: 0,
    names: 0,
    drawn: 0,
    races: false,
  };
  const drawNodes = (least: number, most: number, depth: number, lockRank = 0): Node[] => {
    const { opWeights } = lockRank > 0 ? settingsInLock(settings) : settings;
    const drawn: Node[] = [];
    const wanted = dice.int(least, most);
    for (let tries = 0; drawn.length < wanted && tries < 8 && left.ops > 0; tries++) {
      const kind = KINDS.get(dice.weighted(opWeights) ?? "step");
      const node = kind?.draw(draftAt(depth, lockRank));
      if (!node) continue;
      left.ops -= 1;
      left.drawn += 1;
      drawn.push(node);
    }
    return drawn;
  };
  const draftAt = (depth: number, lockRank: number): Draft => ({
    dice,
    settings,
    lockRank,
    onTrunk: depth === 0,
    isFirst: left.drawn === 0 && depth === 0,
    useRace: () => {
      left.races = true;
    },
    name: (prefix) => `${prefix}${++left.names}`,
    nodes: (least, most) => (depth >= DEPTH_MAX ? [] : drawNodes(least, most, depth + 1, lockRank)),
    nodesInLock: (rank, least, most) => (depth >= DEPTH_MAX ? [] : drawNodes(least, most, depth + 1, rank)),
    signal: (signal, must) => void signals.push({ name: signal, must }),
    letters: (count) => {
      left.letters += count;
    },
    child: (prefix) => {
      if (offspring.length >= (CHILDREN_MAX[level] ?? 0)) return undefined;
      const own = `${name}${version === "1" ? "" : `v${version}`}.${prefix}${++left.names}`;
      const ofChild = settingsOfChild(settings);
      const given = lockRank > 0 ? settingsInLock(withoutLocks(ofChild)) : ofChild;
      offspring.push(drawProgram(seed, own, "1", given));
      return own;
    },
  });
  const body = drawNodes(settings.opsMax >> 1, settings.opsMax, 0);
  const hops = dice.chance(0.15) ? dice.int(1, 3) : 0;
  const retry = !left.races && dice.chance(0.15) ? { attempts: dice.int(2, 3), ms: dice.pick([0, 500]) } : undefined;
  return {
    workflow: name,
    version,
    body,
    hops,
    retry,
    signals,
    letters: left.letters,
    lastWords: level === 0 && new Dice(`last words ${seed} ${name} ${version}`).chance(0.3),
    retriable: !left.races,
    talks: settings.talks,
    offspring,
  };
}

/** The function of the workflow, on the given stage. */
export function programBody(program: Program, stage: Stage): (ctx: Context, input: ProgramInput) => Promise<unknown> {
  return async (ctx, input) => {
    const sights: Sight[] = [];
    const rank = input.rank ?? (Number(/^run(\d+)$/.exec(ctx.info.id)?.[1]) || 0);
    const site: Site = {
      ctx,
      stage,
      sights,
      shielded: false,
      rank,
      talk: new Talk(),
      locks: [],
      rooms: [],
      run: runNode,
    };
    if (program.talks) register(ctx, site);
    const results = await runChain(program.body, site);
    if (input.hop < program.hops) ctx.continueAsNew({ ...input, hop: input.hop + 1 });
    if (program.lastWords) results.push(await hearOut(ctx));
    return results;
  };
}

function runNode(node: Node, site: Site): Promise<unknown> {
  return (KINDS.get(node.kind) as OpKind<never>).run(node as never, site);
}

export function programWorkflow(program: Program, stage: Stage): AnyWorkflow {
  const { retry } = program;
  return workflow(
    {
      name: program.workflow,
      version: program.version,
      ...(retry ? { retry: { attempts: retry.attempts, fixed: { milliseconds: retry.ms } } } : {}),
    },
    programBody(program, stage),
  );
}
