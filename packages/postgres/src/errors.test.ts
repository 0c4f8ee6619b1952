import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { callError, isLockConflict, openError, spoilsConnection } from "./errors.ts";

const call = { where: "db:5432/app as ann", call: "commit_runs", harmless: false };

function fromServer(code: string, fields: object = {}): Error {
  return Object.assign(new Error("the server's words"), { code, severity: "ERROR", ...fields });
}

function fromSystem(code: string): Error {
  return Object.assign(new Error(`connect ${code}`), { code });
}

describe("while the store is in use", () => {
  test.each([
    ["22021", "store_refused"], // a byte that is not valid text
    ["22P05", "store_refused"],
    ["23502", "store_refused"],
    ["54000", "store_refused"],
    ["40001", "store_unavailable"],
    ["40P01", "store_unavailable"],
    ["53100", "store_unavailable"], // disk full
    ["53300", "store_unavailable"], // too many connections
    ["55P03", "store_unavailable"],
    ["42501", "store_unavailable"], // the permission was revoked: not the data's fault
    ["42883", "store_unavailable"],
    ["25006", "store_unavailable"], // a standby
    ["57014", "store_outcome_unknown"], // statement timeout
    ["57P01", "store_outcome_unknown"], // terminated by an administrator
    ["08006", "store_outcome_unknown"],
    ["HF001", "invariant_broken"],
  ])("SQLSTATE %s is %s", (state, code) => {
    const error = callError(fromServer(state), call);
    expect(error).toMatchObject({ code, data: { sqlState: state, where: call.where } });
    expect(error.message).toContain("PostgreSQL at db:5432/app as ann, commit_runs: ");
  });

  test("a copy of the same call that was faster is no fault of the data", () => {
    const error = fromServer("23505", { constraint: "runs_pkey" });
    expect(callError(error, call)).toMatchObject({ code: "store_unavailable" });
    expect(callError(fromServer("23505", { constraint: "events_pkey" }), call)).toMatchObject({
      code: "store_refused",
    });
  });

  test("a connection that breaks leaves the outcome unknown, unless nothing can have happened", () => {
    const broken = new Error("Connection terminated unexpectedly");
    expect(callError(broken, call)).toMatchObject({ code: "store_outcome_unknown", cause: broken });
    expect(callError(broken, { ...call, harmless: true })).toMatchObject({ code: "store_unavailable" });
    expect(callError(fromSystem("ECONNRESET"), call)).toMatchObject({ code: "store_outcome_unknown" });
  });

  test.each([
    [fromSystem("ECONNREFUSED"), true, true],
    [fromSystem("ECONNRESET"), false, true],
    [new Error("Connection terminated unexpectedly"), false, true],
    [fromServer("57P01"), false, true],
    [fromServer("57P03"), true, true],
    [fromServer("53300"), true, true],
    [fromServer("53100"), false, false],
    [fromServer("25006"), false, false],
    [fromServer("57014"), false, false],
    // It is there, and says nothing: as if it waited for a standby that is gone.
    [new Error("Query read timeout"), false, false],
  ])("%s, harmless %s: the server was not reached, or was lost: %s", (error, harmless, unreachable) => {
    expect(callError(error, { ...call, harmless }).data.unreachable === true).toBe(unreachable);
  });

  test.each([
    fromServer("28P01"),
    fromServer("28000"),
    fromServer("3D000"),
    new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string"),
  ])("%s does not go away by itself, and whoever has just called hears of it at once", (error) => {
    const wrong = callError(error, { ...call, harmless: true });
    expect(wrong).toMatchObject({ code: "store_unavailable", data: { lasting: true } });
  });

  test("a connection is given up when it broke or leads to the wrong server", () => {
    expect(spoilsConnection(fromSystem("ECONNRESET"))).toBe(true);
    expect(spoilsConnection(fromServer("25006"))).toBe(true);
    expect(spoilsConnection(fromServer("22021"))).toBe(false);
  });

  test("a row that is locked is recognised", () => {
    expect(isLockConflict(callError(fromServer("55P03"), call))).toBe(true);
    expect(isLockConflict(callError(fromServer("40P01"), call))).toBe(false);
  });
});

describe("while a store is opened", () => {
  test.each([
    [fromSystem("ECONNREFUSED"), "store_unavailable", "Start the server"],
    [new AggregateError([fromSystem("ECONNREFUSED")]), "store_unavailable", "Start the server"],
    [fromSystem("ENOTFOUND"), "store_unavailable", "Correct the host"],
    [fromSystem("ENOENT"), "store_unavailable", "socket folder"],
    [fromSystem("EACCES"), "store_unavailable", "permissions"],
    [new Error("timeout expired"), "store_unavailable", "connect_timeout"],
    [new Error("self-signed certificate"), "store_unavailable", "sslrootcert"],
    [new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string"), "store_refused", "PGPASSWORD"],
    [
      new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a non-empty string"),
      "store_refused",
      "asks for a password, but none is set",
    ],
    [fromServer("28P01"), "store_refused", "password"],
    [fromServer("28000"), "store_refused", "pg_hba.conf"],
    [fromServer("3D000"), "store_refused", "Create the database"],
    [fromServer("42501"), "store_refused", "docs/postgresql.md"],
    [fromServer("53300"), "store_unavailable", "Try again"],
    [fromServer("57P03"), "store_unavailable", "Try again"],
  ])("%s is said so that a person can act (%s)", (error, code, advice) => {
    const opened = openError(error, "db:5432/app as ann", { schema: "holdfast", secrets: [] });
    expect(opened).toMatchObject({ code, message: expect.stringContaining(advice) });
    expect(opened.message).toMatch(/^PostgreSQL at db:5432\/app as ann: /);
  });

  test("a server that repeats a secret as the name of a user is not repeated", () => {
    const told = Object.assign(new Error('role "sesame" does not exist'), { code: "28000", severity: "FATAL" });
    const opened = openError(told, "db:5432/", { schema: "holdfast", secrets: ["sesame"] });
    expect(opened.message).toContain('role "[hidden]" does not exist');
    expect(inspect(opened, { depth: 9, showHidden: true })).not.toContain("sesame");
  });
});
