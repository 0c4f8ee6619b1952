import type { RunRow } from "../../src/api/api-messages.ts";
import { safeLine } from "../text/safe-text.ts";

/** What a run waits for or ended with; nothing where the state beside it says it already. */
export function whyText({ status, why }: Pick<RunRow, "status" | "why">): string {
  return why.text === status.replace("_", " ") ? "" : safeLine(why.text);
}

export function WhyText({ row }: { readonly row: Pick<RunRow, "status" | "why"> }) {
  const text = whyText(row);
  return (
    <span className="soft" title={text}>
      {text}
    </span>
  );
}
