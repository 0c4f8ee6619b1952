import { create } from "@bufbuild/protobuf";
import { ERROR_CODES } from "holdfast";
import { HoldfastError, RUN_STATUSES } from "holdfast/adapter";
import { expect, test } from "vitest";
import {
  ErrorCode,
  ErrorDetailSchema,
  fromErrorDetail,
  fromPayload,
  fromWorkflowStatus,
  PayloadSchema,
  RawPayload,
  REFUSALS,
  RpcCode,
  readStepId,
  stepId,
  toErrorDetail,
  toPayload,
  toRefusal,
  toWorkflowStatus,
  WorkflowStatus,
} from "../src/index.ts";

test.each([
  ["pending", "PENDING"],
  ["running", "RUNNING"],
  ["sleeping", "SLEEPING"],
  ["waiting", "WAITING"],
  ["compensating", "COMPENSATING"],
  ["parked", "PARKED"],
  ["completed", "COMPLETED"],
  ["failed", "FAILED"],
  ["canceled", "CANCELLED"],
  ["terminated", "TERMINATED"],
  ["timed_out", "TIMED_OUT"],
  ["continued", "CONTINUED"],
] as const)("a run that is %s is %s", (ours, theirs) => {
  expect(WorkflowStatus[toWorkflowStatus(ours)]).toBe(theirs);
  expect(fromWorkflowStatus(WorkflowStatus[theirs])).toBe(ours);
  expect(RUN_STATUSES).toContain(ours);
});

test("a run between two attempts is pending, and no run is a schedule", () => {
  expect(toWorkflowStatus("sleeping", true)).toBe(WorkflowStatus.PENDING);
  expect(fromWorkflowStatus(WorkflowStatus.SCHEDULED)).toBeNull();
  expect(fromWorkflowStatus(WorkflowStatus.PAUSED)).toBeNull();
  expect(fromWorkflowStatus(WorkflowStatus.UNSPECIFIED)).toBeUndefined();
});

/** What the caller does next decides, and the kind of the error. */
test.each(Object.entries(ERROR_CODES))(
  "%s has a status that fits what its caller does next",
  (code, { caller, kind }) => {
    const [status] = REFUSALS[code as keyof typeof ERROR_CODES];
    const name = Object.entries(RpcCode).find(([, number]) => number === status)?.[0];
    const fitting: Record<string, readonly string[]> = {
      fix_input: [
        "InvalidArgument",
        "Unauthenticated",
        "PermissionDenied",
        "NotFound",
        "ResourceExhausted",
        "Unimplemented",
      ],
      not_found: ["NotFound"],
      conflict: ["FailedPrecondition", "AlreadyExists", "PermissionDenied", "DeadlineExceeded", "Aborted"],
      retry_later: ["Unavailable", "ResourceExhausted", "DeadlineExceeded", "FailedPrecondition"],
      unavailable: ["Unavailable", "FailedPrecondition", "Unimplemented"],
      lost_lease: ["Aborted"],
      bug: ["Internal", "InvalidArgument", "FailedPrecondition", "Unimplemented"],
      inspect: ["FailedPrecondition", "DeadlineExceeded", "InvalidArgument"],
    };
    if (kind === "Timeout") expect(name).toBe("DeadlineExceeded");
    else if (kind === "RateLimitExceeded") expect(name).toBe("ResourceExhausted");
    else expect(fitting[caller]).toContain(name);
  },
);

test.each([
  ["run_not_found", RpcCode.NotFound, ErrorCode.NOT_FOUND],
  ["run_already_exists", RpcCode.AlreadyExists, ErrorCode.CONFLICT],
  ["invalid_input", RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  ["payload_too_large", RpcCode.ResourceExhausted, ErrorCode.INVALID_ARGUMENT],
  ["run_closed", RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  ["store_unavailable", RpcCode.Unavailable, ErrorCode.UNAVAILABLE],
  ["unauthenticated", RpcCode.Unauthenticated, ErrorCode.UNAUTHORIZED],
  ["permission_denied", RpcCode.PermissionDenied, ErrorCode.UNAUTHORIZED],
  ["update_timeout", RpcCode.DeadlineExceeded, ErrorCode.TIMEOUT],
  ["lease_lost", RpcCode.Aborted, ErrorCode.CONFLICT],
] as const)("%s travels with its own code in the details", (code, status, detailCode) => {
  const refusal = toRefusal(new HoldfastError(code, "why", { data: { runId: "r", retryAfterMs: 7 } }));
  expect(refusal).toMatchObject({
    code: status,
    message: "why",
    detail: { code: detailCode, subject: "run", subjectId: "r", retryAfterMs: 7n, metadata: { code } },
  });
});

test("of an error that nobody expected, nothing is told", () => {
  for (const error of [
    new TypeError("at /srv/secret.ts: password=x"),
    new HoldfastError("invariant_broken", "password=x"),
    "password=x",
  ]) {
    const { code, message, detail } = toRefusal(error);
    expect(code).toBe(RpcCode.Internal);
    expect(`${message} ${detail.message} ${JSON.stringify(detail.metadata)}`).not.toContain("password");
  }
});

test("payloads lose and get their mark", () => {
  const json = new RawPayload(new TextEncoder().encode("[1]"));
  expect(toPayload(json)).toMatchObject({ data: json.bytes, metadata: { encoding: "json" } });
  expect(fromPayload(toPayload(json), "x")?.bytes).toEqual(json.bytes);
  for (const [mark, encoding] of [
    [1, "msgpack"],
    [2, "compressed"],
    [3, "encrypted"],
  ] as const) {
    const marked = new RawPayload(new Uint8Array([mark, 9, 9]));
    const shown = toPayload(marked);
    expect(shown).toMatchObject({ data: new Uint8Array([9, 9]), metadata: { encoding } });
    expect(fromPayload(shown, "x")?.bytes).toEqual(marked.bytes);
  }
  expect(toPayload(new RawPayload(new Uint8Array(0)))).toBeUndefined();
  expect(fromPayload(create(PayloadSchema), "x")).toBeUndefined();
  expect(() =>
    fromPayload(create(PayloadSchema, { data: new Uint8Array([1]), metadata: { encoding: "toString" } }), "x"),
  ).toThrow("is not known");
});

test("errors of other languages keep their name, kind and wish", () => {
  const detail = create(ErrorDetailSchema, {
    message: "no",
    code: ErrorCode.UNAVAILABLE,
    retryAfterMs: 50n,
    metadata: { name: "KeyError" },
  });
  expect(fromErrorDetail(detail)).toMatchObject({
    name: "KeyError",
    message: "no",
    kind: "ServiceUnavailable",
    data: { afterMs: 50 },
  });
  expect(fromErrorDetail(create(ErrorDetailSchema, { nonRetryable: true }))).toMatchObject({ code: "non_retryable" });
  expect(toErrorDetail({ kind: "Timeout", name: "E", message: "m" })).toMatchObject({
    code: ErrorCode.TIMEOUT,
    metadata: { name: "E", kind: "Timeout" },
  });
});

test("the id of a step is that of its run and its op", () => {
  expect(readStepId(stepId("r", "receive:paid#2"))).toEqual({ runId: "r", op: "receive:paid#2" });
  expect(readStepId("nonsense")).toBeUndefined();
});

test("what a store says of itself is told to nobody", () => {
  const data = { where: "db.example:5432", call: "create_runs", sqlState: "22021" };
  const message = "PostgreSQL at db.example:5432, create_runs: the data was refused: invalid byte sequence";
  for (const code of ["store_refused", "store_unavailable", "store_outcome_unknown"] as const) {
    const refusal = toRefusal(new HoldfastError(code, message, { data }));
    expect(`${refusal.message} ${refusal.detail.message}`).not.toMatch(/PostgreSQL|example|byte/);
  }
});
