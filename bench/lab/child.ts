/**
 * A process of one measurement: node lab/child.ts '<job as JSON>'. It exchanges messages with the bench that started
 * it.
 */
import { definitionOf } from "../engines/definitions.ts";
import { workloadOf } from "../workloads/workloads.ts";
import { type Job, runInside } from "./inside.ts";

type Message = { readonly type: string; readonly name?: string };

const job = JSON.parse(process.argv[2] ?? "") as Job;
const heard: string[] = [];
const listeners = new Map<string, () => void>();
process.on("message", ({ type }: Message) => {
  const listener = listeners.get(type);
  if (listener) listener();
  else heard.push(type);
});
process.on("disconnect", () => process.exit(3));

const hear = (word: string): Promise<void> =>
  new Promise((resolve) => {
    const at = heard.indexOf(word);
    if (at >= 0) {
      heard.splice(at, 1);
      resolve();
      return;
    }
    listeners.set(word, () => {
      listeners.delete(word);
      resolve();
    });
  });

const tell = (message: object): Promise<void> =>
  new Promise((resolve, reject) =>
    process.send?.(message, (error: Error | null) => (error ? reject(error) : resolve())),
  );

const mark = async (name: string): Promise<void> => {
  const answered = hear("marked");
  await tell({ type: "mark", name });
  await answered;
};

try {
  const part = workloadOf(job.workload).parts[job.part];
  if (!part) throw new Error(`${job.workload} has no part ${job.part}`);
  const figures = await runInside({ job, definition: await definitionOf(job.engine), part, mark, hear });
  await tell({ type: "figures", figures });
  process.exit(0);
} catch (error) {
  await tell({ type: "failed", message: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  process.exit(1);
}
