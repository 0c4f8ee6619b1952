import { useState } from "react";
import type { StartRequest, WorkersView } from "../../../src/api/api-messages.ts";
import { useRead } from "../../api/reads.ts";
import { TextField } from "../../components/fields.tsx";
import { startQueue } from "./start-queue.ts";

/** The fields that say where a new run waits, and what they add to the request. */
export function useStartPlace(workflow: string) {
  const workers = useRead<WorkersView>("workers").data?.workers ?? [];
  const [typed, setTyped] = useState<string>();
  const [key, setKey] = useState("");
  const queue = typed ?? startQueue(workflow, workers);
  const request: Pick<StartRequest, "queue" | "key"> = {
    ...(queue.trim() === "" ? {} : { queue: queue.trim() }),
    ...(key.trim() === "" ? {} : { key: key.trim() }),
  };
  const fields = (
    <>
      <TextField
        label="Queue (optional)"
        value={queue}
        onChange={setTyped}
        hint="Left empty: the workflow's, or default"
      />
      <TextField label="Key (optional)" value={key} onChange={setKey} hint="In a queue with limits, keys take turns" />
    </>
  );
  return { request, fields };
}
