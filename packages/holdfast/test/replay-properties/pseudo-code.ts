import type { Block, Node, OpNode, Program, Via } from "./program.ts";

/** A program as somebody would write it, so that a counterexample can be read. */
export function pseudoCode(program: Program): string {
  return ["workflow(async (ctx) => {", ...block(program.body), "})"].join("\n");
}

function block(nodes: Block): string[] {
  return nodes.flatMap((node) => lines(node).map((line) => `  ${line}`));
}

function lines(node: Node): string[] {
  switch (node.type) {
    case "step":
    case "sleep":
    case "receive":
      return [`log(${node.id}, await ${op(node)})`];
    case "begin":
      return [`slot${node.slot} = ${op(node.op)}  // ${node.id}, not awaited here`];
    case "join":
      return [`log(${node.id}, await slot${node.slot})`];
    case "fork":
      return [
        `slot${node.slot} = (async () => {  // ${node.id}, not awaited here${node.bare ? "" : "; .catch(() => {})"}`,
        ...block(node.body),
        "})()",
      ];
    case "native":
      return fan(`await Promise.${node.how}([  // ${node.id}`, node.branches, "async () => {", "])");
    case "parallel":
      return fan(
        `await ${ctx(node.via)}.parallel(${node.keyed ? "{" : "["}  // ${node.id}${node.collect ? ", collect-all" : ""}${node.limit === null ? "" : `, limit ${node.limit}`}`,
        node.branches,
        "async (ctx) => {",
        node.keyed ? "})" : "])",
      );
    case "race":
      return fan(
        `await ${ctx(node.via)}.race(${node.keyed ? "{" : "["}  // ${node.id}`,
        node.branches,
        "async (ctx) => {",
        node.keyed ? "})" : "])",
      );
    case "try":
      return [
        `try {  // ${node.id}`,
        ...block(node.body),
        ...(node.handler ? ["} catch (error) {", ...block(node.handler)] : []),
        ...(node.finalizer ? ["} finally {", ...block(node.finalizer)] : []),
        "}",
      ];
    case "ifOdd":
      return [
        `if (shared is odd) {  // ${node.id}`,
        ...block(node.body),
        ...(node.otherwise.length > 0 ? ["} else {", ...block(node.otherwise)] : []),
        "}",
      ];
    case "loop": {
      const bound = node.below === null ? "" : ` && shared < ${node.below}`;
      return [`for (i = 0; i < ${node.times}${bound}; i++) {  // ${node.id}`, ...block(node.body), "}"];
    }
    case "patched":
      return [`if (ctx.patched("${node.patch}")) {  // ${node.id}`, ...block(node.body), "}"];
    case "uncancelable":
      return [`await ${ctx(node.via)}.uncancelable(async (ctx) => {  // ${node.id}`, ...block(node.body), "})"];
    default:
      return [instant(node)];
  }
}

function instant(node: Node): string {
  switch (node.type) {
    case "sideEffect":
      return `log(${node.id}, ctx.sideEffect("${node.name}", …))`;
    case "look":
      return node.at === "log" ? `ctx.log.info("line ${node.id}")` : `log(${node.id}, ctx ${node.at})`;
    case "set":
      return `ctx.set({ ${node.key}: shared })  // ${node.id}`;
    case "retired":
      return `ctx.retired("${node.name}")  // ${node.id}`;
    case "compensate":
      return `ctx.compensate("${node.name}", ${node.fails ? "fails" : "works"})  // ${node.id}`;
    case "onAbort":
      return `ctx.abortSignal.onabort = () => log(${node.id})`;
    case "add":
      return `shared += ${node.amount}  // ${node.id}`;
    case "throw":
      return `throw new Error("thrown at ${node.id}")`;
    case "continueAsNew":
      return `ctx.continueAsNew(shared)  // ${node.id}`;
    case "hop":
      return `await ${node.hops} microtasks  // ${node.id}`;
    default:
      return node.type;
  }
}

function op(node: OpNode): string {
  const on = ctx(node.via);
  if (node.type === "sleep") return `${on}.sleep${node.until ? "Until" : ""}("${node.name}", ${node.ms} ms)`;
  if (node.type === "receive")
    return `${on}.receive(${node.signal}${node.timeoutMs === null ? "" : `, timeout ${node.timeoutMs} ms`})`;
  const options = [
    node.failures > 0 ? `${node.failures} failures` : "",
    node.attempts > 1 ? `${node.attempts} attempts` : "",
    node.undo === "none" ? "" : `compensation ${node.undo}`,
    node.onCrash === "fail" ? "at most once" : "",
  ].filter((text) => text !== "");
  return `${on}.step("${node.name}"${options.length === 0 ? "" : `, ${options.join(", ")}`})`;
}

function ctx(via: Via): string {
  return via === "root" ? "rootCtx" : "ctx";
}

function fan(open: string, branches: readonly Block[], head: string, close: string): string[] {
  return [open, ...branches.flatMap((branch) => [head, ...block(branch), "},"].map((line) => `  ${line}`)), close];
}
