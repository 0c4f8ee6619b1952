/** Workflow programs as data. The interpreter runs them over `ctx`; the printer shows them as pseudo-code. */

export type Block = readonly Node[];

/** Which ctx the code uses: the one of the branch it stands in, or that of the workflow function. */
export type Via = "branch" | "root";

export const SIGNALS = ["ping", "pong"] as const;
export type SignalName = (typeof SIGNALS)[number];

export interface StepNode {
  readonly type: "step";
  readonly id: number;
  readonly name: string;
  readonly via: Via;
  /** So many executions fail before one succeeds. */
  readonly failures: number;
  readonly attempts: number;
  readonly undo: "none" | "works" | "fails";
  readonly onCrash: "retry" | "fail";
}

export interface SleepNode {
  readonly type: "sleep";
  readonly id: number;
  readonly name: string;
  readonly via: Via;
  readonly ms: number;
  readonly until: boolean;
}

export interface ReceiveNode {
  readonly type: "receive";
  readonly id: number;
  readonly signal: SignalName;
  readonly via: Via;
  readonly timeoutMs: number | null;
}

/** Something that takes time. */
export type OpNode = StepNode | SleepNode | ReceiveNode;

/** Something that answers at once. */
export type InstantNode =
  | { readonly type: "sideEffect"; readonly id: number; readonly name: string }
  | {
      readonly type: "look";
      readonly id: number;
      readonly at: "now" | "random" | "uuid" | "named uuid" | "info" | "log";
    }
  | { readonly type: "set"; readonly id: number; readonly key: string }
  | { readonly type: "retired"; readonly id: number; readonly name: string }
  | { readonly type: "compensate"; readonly id: number; readonly name: string; readonly fails: boolean }
  | { readonly type: "onAbort"; readonly id: number }
  | { readonly type: "add"; readonly id: number; readonly amount: number }
  | { readonly type: "throw"; readonly id: number }
  | { readonly type: "continueAsNew"; readonly id: number };

/** Concurrency, made by hand or by the engine. */
export type FanNode =
  | {
      readonly type: "native";
      readonly id: number;
      readonly how: "all" | "race" | "any" | "allSettled";
      readonly branches: readonly Block[];
    }
  | {
      readonly type: "parallel";
      readonly id: number;
      readonly collect: boolean;
      readonly limit: number | null;
      readonly keyed: boolean;
      readonly via: Via;
      readonly branches: readonly Block[];
    }
  | {
      readonly type: "race";
      readonly id: number;
      readonly keyed: boolean;
      readonly via: Via;
      readonly branches: readonly Block[];
    };

/** Promises kept in a slot: started here, awaited later, or never. */
export type SlotNode =
  /** A chain of its own. `bare`: nothing at all listens to its failure. */
  | { readonly type: "fork"; readonly id: number; readonly slot: number; readonly bare: boolean; readonly body: Block }
  /** The promise of the op itself. */
  | { readonly type: "begin"; readonly id: number; readonly slot: number; readonly op: OpNode }
  | { readonly type: "join"; readonly id: number; readonly slot: number };

export type ControlNode =
  | { readonly type: "hop"; readonly id: number; readonly hops: number }
  /** `below`: goes on only while the shared variable, which other chains move, is less. */
  | {
      readonly type: "loop";
      readonly id: number;
      readonly times: number;
      readonly below: number | null;
      readonly body: Block;
    }
  /** Taken by whether the shared variable is odd. */
  | { readonly type: "ifOdd"; readonly id: number; readonly body: Block; readonly otherwise: Block }
  | { readonly type: "patched"; readonly id: number; readonly patch: string; readonly body: Block }
  | {
      readonly type: "try";
      readonly id: number;
      readonly body: Block;
      readonly handler: Block | null;
      readonly finalizer: Block | null;
    }
  | { readonly type: "uncancelable"; readonly id: number; readonly via: Via; readonly body: Block };

export type Node = OpNode | InstantNode | FanNode | SlotNode | ControlNode;

export interface Program {
  readonly body: Block;
}

/** The blocks directly inside a node. */
export function blocksOf(node: Node): readonly Block[] {
  switch (node.type) {
    case "native":
    case "parallel":
    case "race":
      return node.branches;
    case "fork":
    case "loop":
    case "patched":
    case "uncancelable":
      return [node.body];
    case "begin":
      return [[node.op]];
    case "ifOdd":
      return [node.body, node.otherwise];
    case "try":
      return [node.body, node.handler ?? [], node.finalizer ?? []];
    default:
      return [];
  }
}

/** Every node, in the order of the text. */
export function nodesOf(block: Block): Node[] {
  return block.flatMap((node) => [node, ...blocksOf(node).flatMap(nodesOf)]);
}

/**
 * The same program with each node numbered in the order of the text. A name that ends in "*" gets the number, so that only
 * this node uses it.
 */
export function numbered(program: Program): Program {
  let count = 0;
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit);
    if (typeof value !== "object" || value === null) return value;
    const id = "type" in value ? ++count : 0;
    const entries = Object.entries(value).map(([key, part]): [string, unknown] => {
      if (key === "id") return [key, id];
      if (key === "name" && typeof part === "string") return [key, part.replace("*", String(id))];
      return [key, visit(part)];
    });
    return Object.fromEntries(entries);
  };
  return visit(program) as Program;
}
