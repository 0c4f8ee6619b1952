import { jsonCodec } from "../../src/codec/json-codec.ts";
import type { HistoryEvent } from "../../src/model/event.ts";
import type { LiveRun } from "./live-run.ts";
import type { Snapshot } from "./snapshot.ts";

export interface OtherSide {
  readonly history: readonly HistoryEvent[];
  readonly log?: readonly string[];
  readonly state?: string;
}

/** Replay was not exact. The message shows both sides. */
export class Mismatch extends Error {
  constructor(fault: string, live: LiveRun, other: OtherSide, at?: Snapshot) {
    super(fault);
    this.name = "Mismatch";
    // Made when somebody reads it: shrinking throws away hundreds of these.
    Object.defineProperty(this, "message", { get: () => report(fault, live, other, at) });
  }
}

function report(fault: string, live: LiveRun, other: OtherSide, at: Snapshot | undefined): string {
  const observed = at ? live.log.slice(0, at.observations) : live.log;
  return [
    fault,
    "",
    "live history:",
    ...live.history.map(describeEvent),
    "the other history:",
    ...other.history.map(describeEvent),
    ...(at ? [`live state behind event ${at.seq}:`, indent(at.state)] : []),
    ...(other.state === undefined ? [] : ["the other state:", indent(other.state)]),
    "live observations:",
    ...observed.map((line) => `  ${line}`),
    ...(other.log === undefined ? [] : ["the other observations:", ...other.log.map((line) => `  ${line}`)]),
  ].join("\n");
}

export function describeEvent({ seq, type, op, at, payload, meta }: HistoryEvent): string {
  const { error, ...rest } = meta ?? {};
  const parts = [
    payload === undefined ? "" : JSON.stringify(jsonCodec.decode(payload)),
    error === undefined ? "" : `${error.name}: ${error.message}`,
    Object.keys(rest).length === 0 ? "" : JSON.stringify(rest),
  ];
  return `  ${seq} ${type} ${op ?? ""} at ${at} ${parts.filter((part) => part !== "").join(" ")}`.trimEnd();
}

function indent(text: string): string {
  return text.replace(/^/gm, "  ");
}
