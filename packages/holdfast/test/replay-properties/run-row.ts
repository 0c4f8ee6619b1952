import { jsonCodec } from "../../src/codec/json-codec.ts";
import type { Run } from "../../src/model/run.ts";

export const START_MS = Date.UTC(2026, 0, 4, 8);

/** The row of the one run that all these tests are about. */
export const RUN: Run = {
  namespace: "default",
  runId: "run-1",
  id: "generated",
  firstRunId: "run-1",
  workflow: "generated",
  version: "1",
  queue: "default",
  priority: 0,
  seed: "a seed",
  status: "running",
  epoch: 1,
  commit: 0,
  heldBy: "w1",
  claimId: null,
  availableAt: null,
  eventCount: 0,
  delivered: 0,
  consumed: 0,
  deaths: 0,
  aloneDeaths: 0,
  alone: false,
  suspect: false,
  createdAt: START_MS,
  startedAt: START_MS,
  endedAt: null,
  deadlineAt: null,
  timeoutMs: null,
  attributes: {},
  waitingFor: [],
  compensation: null,
  continuedFrom: null,
  continuedAs: null,
  input: jsonCodec.encode({ order: 7 }, "input"),
  output: null,
  error: null,
};
