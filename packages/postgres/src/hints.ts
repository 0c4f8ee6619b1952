import type { Hint } from "holdfast/adapter";

/** Parses the lines that the functions write: type, what the runs have in common, run ids (or tasks, asks, or a queue and the time it is due). */
export function readHints(lines: unknown): readonly Hint[] {
  return typeof lines !== "string" || lines === "" ? [] : lines.split("\n").flatMap(readLine);
}

function readLine(line: string): Hint[] {
  const [type, common = "", rest = "", at] = line.split("\t");
  if (type === "d" || type === "q") {
    const about = { namespace: common, queue: rest, ...(at !== undefined && { at: Number(at) }) };
    return [{ type: type === "d" ? "due" : "task_due", ...about }];
  }
  if (type === "s") return [{ type: "schedule" }];
  if (type === "o") return [{ type: "retention" }];
  if (type === "l") return [{ type: "leaderless" }];
  if (type === "a") return [{ type: "asked", namespace: common }];
  const runIds = rest.split(",");
  switch (type) {
    case "e":
      return runIds.map((runId) => ({ type: "ended", namespace: common, runId }));
    case "i":
      return runIds.map((runId) => ({ type: "inbox", runId, workerId: common }));
    case "t":
      return runIds.map((runId) => ({ type: "taken", runId, workerId: common }));
    case "k":
      return runIds.map((task) => {
        const [runId = "", seq] = task.split("/");
        return { type: "task", runId, seq: Number(seq), workerId: common };
      });
    case "r":
      return runIds.map((runId) => ({ type: "replied", runId }));
    case "n":
      return runIds.map((askId) => ({ type: "answered", askId }));
    default:
      return []; // written by a newer version
  }
}
