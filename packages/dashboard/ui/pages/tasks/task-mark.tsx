import type { TaskRow } from "../../../src/api/api-messages.ts";
import { type State, Status } from "../../components/status.tsx";

const SHAPES: Readonly<Record<TaskRow["status"], readonly [State, string]>> = {
  due: ["pending", "due"],
  held: ["running", "in progress"],
  external: ["waiting", "external"],
  dead: ["failed", "dead letter"],
};

/** The status of a task: shape, word and color. One between two attempts is shown as retrying. */
export function TaskMark({ task }: { readonly task: TaskRow }) {
  if (task.status === "due" && task.failures.length > 0) return <Status value="retrying" word="retrying" />;
  const [shape, word] = SHAPES[task.status] ?? ["pending", "unknown"];
  return <Status value={shape} word={word} />;
}
