import fc from "fast-check";
import type { Block, InstantNode, Node, OpNode, Program, SlotNode, Via } from "./program.ts";
import { numbered, SIGNALS } from "./program.ts";

const via: fc.Arbitrary<Via> = fc.constantFrom(
  "branch" as const,
  "branch" as const,
  "branch" as const,
  "root" as const,
);
/** Names that several nodes share, so that ids count occurrences, and names of one node's own. */
const name = fc.constantFrom("a", "b", "own*", "own*");
const id = fc.constant(0);
const slot = fc.nat(2);

const step: fc.Arbitrary<OpNode> = fc.record({
  type: fc.constant("step" as const),
  id,
  name,
  via,
  failures: fc.constantFrom(0, 0, 0, 1, 2),
  attempts: fc.constantFrom(1, 2, 3),
  undo: fc.constantFrom("none" as const, "none" as const, "works" as const, "fails" as const),
  onCrash: fc.constantFrom("retry" as const, "retry" as const, "fail" as const),
});

const sleep: fc.Arbitrary<OpNode> = fc.record({
  type: fc.constant("sleep" as const),
  id,
  name,
  via,
  ms: fc.constantFrom(0, 1, 500, 500, 1000, 5000),
  until: fc.boolean(),
});

const receive: fc.Arbitrary<OpNode> = fc.record({
  type: fc.constant("receive" as const),
  id,
  signal: fc.constantFrom(...SIGNALS),
  via,
  timeoutMs: fc.constantFrom(null, 0, 500, 1000),
});

const op: fc.Arbitrary<OpNode> = fc.oneof(
  { weight: 6, arbitrary: step },
  { weight: 3, arbitrary: sleep },
  { weight: 2, arbitrary: receive },
);

const look = fc.record({
  type: fc.constant("look" as const),
  id,
  at: fc.constantFrom("now", "random", "uuid", "named uuid", "info", "log"),
});

const instant: fc.Arbitrary<InstantNode> = fc.oneof(
  { weight: 6, arbitrary: look },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("sideEffect" as const), id, name }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("set" as const), id, key: fc.constantFrom("x", "y") }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("retired" as const), id, name }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant("compensate" as const), id, name, fails: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("onAbort" as const), id }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("add" as const), id, amount: fc.constantFrom(1, 2) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("throw" as const), id }) },
);

const continueAsNew: fc.Arbitrary<InstantNode> = fc.record({ type: fc.constant("continueAsNew" as const), id });
const hop: fc.Arbitrary<Node> = fc.record({
  type: fc.constant("hop" as const),
  id,
  hops: fc.integer({ min: 1, max: 4 }),
});

const slotted: fc.Arbitrary<SlotNode> = fc.oneof(
  fc.record({ type: fc.constant("begin" as const), id, slot, op }),
  fc.record({ type: fc.constant("join" as const), id, slot }),
);

const depth = fc.createDepthIdentifier();

const { block } = fc.letrec<{ block: Block; branches: readonly Block[]; node: Node }>((tie) => {
  const block = tie("block");
  const branches = tie("branches");
  const blockOrNone = fc.option(block, { nil: null, freq: 1 });
  return {
    block: fc.array(tie("node"), { minLength: 1, maxLength: 4, size: "max", depthIdentifier: depth }),
    branches: fc.array(block, { minLength: 1, maxLength: 3, size: "max" }),
    node: fc.oneof(
      { maxDepth: 4, depthIdentifier: depth, depthSize: "max", withCrossShrink: true },
      { weight: 20, arbitrary: op },
      { weight: 10, arbitrary: instant },
      { weight: 3, arbitrary: hop },
      { weight: 5, arbitrary: slotted },
      {
        weight: 6,
        arbitrary: fc.record({ type: fc.constant("fork" as const), id, slot, bare: fc.boolean(), body: block }),
      },
      {
        weight: 5,
        arbitrary: fc.record({
          type: fc.constant("native" as const),
          id,
          how: fc.constantFrom("all" as const, "race" as const, "any" as const, "allSettled" as const),
          branches,
        }),
      },
      {
        weight: 4,
        arbitrary: fc.record({
          type: fc.constant("parallel" as const),
          id,
          collect: fc.boolean(),
          limit: fc.constantFrom(null, 1, 2),
          keyed: fc.boolean(),
          via,
          branches,
        }),
      },
      {
        weight: 4,
        arbitrary: fc.record({ type: fc.constant("race" as const), id, keyed: fc.boolean(), via, branches }),
      },
      {
        weight: 3,
        arbitrary: fc.record({
          type: fc.constant("loop" as const),
          id,
          times: fc.constantFrom(2, 3),
          below: fc.constantFrom(null, 2, 4),
          body: block,
        }),
      },
      { weight: 2, arbitrary: fc.record({ type: fc.constant("ifOdd" as const), id, body: block, otherwise: block }) },
      {
        weight: 2,
        arbitrary: fc.record({
          type: fc.constant("patched" as const),
          id,
          patch: fc.constantFrom("p", "q"),
          body: block,
        }),
      },
      {
        weight: 5,
        arbitrary: fc.record({
          type: fc.constant("try" as const),
          id,
          body: block,
          handler: blockOrNone,
          finalizer: blockOrNone,
        }),
      },
      { weight: 3, arbitrary: fc.record({ type: fc.constant("uncancelable" as const), id, via, body: block }) },
    ),
  };
});

/** Any program; now and then one that ends by continuing as new. */
export const programs: fc.Arbitrary<Program> = fc
  .tuple(fc.array(block, { minLength: 1, maxLength: 3, size: "max" }), fc.nat(15), continueAsNew)
  .map(([blocks, chance, last]) => numbered({ body: chance === 15 ? [...blocks.flat(), last] : blocks.flat() }));
