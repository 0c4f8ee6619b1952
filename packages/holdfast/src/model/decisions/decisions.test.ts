import { describe, expect, test } from "vitest";
import { judgeCommit, staysHeld } from "./commit.ts";
import { afterHolder, isDead } from "./dead-holder.ts";
import { isMoved, judgeDelivery, wakes, wakeTime } from "./delivery.ts";
import { deadlineFrom, dueTime, firstDueTime, isDue, isOverdueUnbegun } from "./due-time.ts";
import { judgeReopening, renewedDeadline } from "./reopening.ts";
import { creationTime, judgeStart, startTime } from "./start.ts";
import { chooseVersion } from "./version-choice.ts";

describe("a start", () => {
  test("of an id that no run has creates one, whatever its policies say", () => {
    expect(judgeStart(undefined, { ifRunning: "fail", ifClosed: "fail" })).toBe("create");
  });

  test("follows the policy for open runs or the one for closed runs", () => {
    const policy = { ifRunning: "replace", ifClosed: "return" } as const;
    expect(judgeStart({ closed: false }, policy)).toBe("replace");
    expect(judgeStart({ closed: true }, policy)).toBe("returned");
    expect(judgeStart({ closed: true }, { ifRunning: "fail", ifClosed: "start" })).toBe("create");
    expect(judgeStart({ closed: false }, { ifRunning: "fail", ifClosed: "start" })).toBe("exists");
  });

  test("is later than the newest run of its id, also when the clock was set back", () => {
    expect([creationTime(100, undefined), creationTime(100, { createdAt: 100 })]).toEqual([100, 101]);
    expect(creationTime(100, { createdAt: 500 })).toBe(501);
    expect([startTime(100, 501), startTime(600, 501)]).toEqual([501, 600]);
  });

  test("gets the version whose share is above its pick, else the default, else its own", () => {
    const rows = [
      { version: "1", share: 0, isDefault: 1 },
      { version: "2", share: 0.3, isDefault: 0 },
    ];
    const choose = (pick: number | null, known = rows): string => chooseVersion("own", pick, () => known);
    expect([choose(0), choose(0.29), choose(0.3), choose(0.9)]).toEqual(["2", "2", "1", "1"]);
    expect([choose(null), choose(0.5, [])]).toEqual(["own", "own"]);
    const unasked = (): never => expect.fail("a start that names its version asks for nothing");
    expect(chooseVersion("own", null, unasked)).toBe("own");
  });
});

describe("a due time", () => {
  test("of a new run is the later of its start time and its delay, but not after its deadline", () => {
    expect(firstDueTime({}, null, 100)).toBe(100);
    expect(firstDueTime({ startAt: 50 }, null, 100)).toBe(100);
    expect(firstDueTime({ startAt: 150, startDelayMs: 80 }, null, 100)).toBe(180);
    expect(firstDueTime({ startDelayMs: 80 }, deadlineFrom(100, 30), 100)).toBe(130);
    expect(deadlineFrom(100, undefined)).toBe(null);
  });

  test("that is later is not after the deadline; now is now, also past it", () => {
    expect([dueTime(null, 90, 100), dueTime(150, 120, 100), dueTime(150, null, 100)]).toEqual([null, 120, 150]);
    expect([dueTime(100, 90, 100), dueTime(40, 90, 100)]).toEqual([100, 40]);
    expect([isDue(null, 100), isDue(100, 100), isDue(101, 100)]).toEqual([false, true, false]);
  });

  test("that nobody kept ends a run only if it has never begun, and after the grace", () => {
    const late = (startedAt: number | null, deadlineAt: number | null, status = "pending") =>
      isOverdueUnbegun({ startedAt, deadlineAt, status }, 10, 100);
    expect([late(null, 90), late(null, 91), late(5, 90), late(null, null)]).toEqual([true, false, false, false]);
    expect(late(null, 90, "parked")).toBe(false);
  });
});

describe("a message", () => {
  const open = { closed: false, parked: false, moved: false, delivered: 3, consumed: 1 };

  test("is a duplicate first, then too late, then one too many, unless it is a cancel", () => {
    const [known, fresh] = [() => true, () => false];
    expect(judgeDelivery({ ...open, closed: true }, "signal", known, 1)).toBe("duplicate");
    expect(judgeDelivery({ ...open, closed: true }, "signal", fresh, 1)).toBe("closed");
    expect(judgeDelivery(open, "signal", fresh, 2)).toBe("full");
    expect(judgeDelivery(open, "signal", fresh, 3)).toBe("delivered");
    expect(judgeDelivery(open, "cancel", fresh, 2)).toBe("delivered");
  });

  test("that pauses or resumes is for nobody if the run is parked", () => {
    const parked = { ...open, parked: true };
    for (const kind of ["pause", "resume"] as const) {
      expect(judgeDelivery(parked, kind, () => false, 2)).toBe("parked");
      expect(judgeDelivery(open, kind, () => false, 2)).toBe("delivered");
    }
    expect(judgeDelivery(parked, "cancel", () => false, 2)).toBe("delivered");
  });

  test("is for one epoch of one run, if it names one", () => {
    const moved = { ...open, moved: true };
    for (const kind of ["pause", "resume", "cancel", "signal"] as const) {
      expect(judgeDelivery(moved, kind, () => false, 2)).toBe("moved");
      expect(judgeDelivery(moved, kind, () => true, 2)).toBe("duplicate");
    }
    for (const kind of ["pause", "resume"] as const)
      expect(judgeDelivery({ ...moved, parked: true }, kind, () => false, 2)).toBe("parked");
    const to = { namespace: "default", runId: "r" };
    const run = { runId: "r", epoch: 3 };
    expect(isMoved(run, { to, epoch: 3 })).toBe(false);
    expect(isMoved(run, { to })).toBe(false);
    expect(isMoved(run, { to, epoch: 2 })).toBe(true);
    expect(isMoved(run, { to: { ...to, runId: "other" }, epoch: 3 })).toBe(true);
  });

  test("wakes what waits; a signal does not start a run before its time, and nothing wakes a parked one", () => {
    expect(wakes({ parked: false, startedAt: 1 }, "signal")).toBe(true);
    expect(wakes({ parked: false, startedAt: null }, "signal")).toBe(false);
    expect(wakes({ parked: false, startedAt: null }, "cancel")).toBe(true);
    expect(wakes({ parked: true, startedAt: 1 }, "cancel")).toBe(false);
    expect([wakeTime(null, 100), wakeTime(150, 100), wakeTime(50, 100)]).toEqual([100, 100, 50]);
  });
});

describe("a commit", () => {
  const row = { epoch: 2, commit: 5, delivered: 1 };
  const sent = { epoch: 2, commit: 5, consumed: 1, transition: { type: "hold" } };

  test("is written by the holder, once", () => {
    expect(judgeCommit(row, true, sent)).toBe("write");
    expect(judgeCommit({ ...row, commit: 6 }, false, sent)).toBe("again");
    expect(judgeCommit(row, false, sent)).toBe("lost");
    expect(judgeCommit({ ...row, epoch: 3 }, true, sent)).toBe("lost");
    expect(judgeCommit({ ...row, commit: 7 }, true, sent)).toBe("lost");
  });

  test("that ends a run unless messages wait is not written when they do", () => {
    const end = { ...sent, consumed: 0, transition: { type: "end", unlessBehind: true } };
    expect(judgeCommit(row, true, end)).toBe("behind");
    expect(judgeCommit(row, true, { ...end, consumed: 1 })).toBe("write");
    expect(judgeCommit(row, true, { ...end, transition: { type: "end", unlessBehind: false } })).toBe("write");
  });

  test("does not let a run go to sleep over messages that it has not seen", () => {
    expect(staysHeld(row, { consumed: 0, transition: { type: "suspend" } })).toBe(true);
    expect(staysHeld(row, { consumed: 1, transition: { type: "suspend" } })).toBe(false);
    expect(staysHeld(row, { consumed: 0, transition: { type: "release" } })).toBe(false);
    expect(staysHeld(row, { consumed: 1, transition: { type: "hold" } })).toBe(true);
  });
});

describe("a run whose worker is offline", () => {
  const limits = { suspectAfter: 2, parkAfter: 2 };
  const held = { deaths: 1, aloneDeaths: 1, alone: false, suspect: false };

  test("is told from one whose worker lives by the lease, or by what is known of its process", () => {
    const worker = { workerId: "w", leaseExpiresAt: 100 };
    expect([isDead(worker, undefined, 99), isDead(worker, undefined, 100)]).toEqual([false, true]);
    expect([isDead(worker, ["w"], 1), isDead(worker, ["x"], 500)]).toEqual([true, false]);
  });

  test("counts a death, becomes a suspect, and is parked for deaths while alone", () => {
    expect(afterHolder(held, true, limits)).toEqual({ deaths: 2, aloneDeaths: 1, suspect: true, parked: false });
    expect(afterHolder({ ...held, alone: true }, true, limits)).toMatchObject({ aloneDeaths: 2, parked: true });
  });

  test("counts nothing when the worker signed off", () => {
    const alone = { ...held, alone: true, suspect: true };
    expect(afterHolder(alone, false, limits)).toEqual({ deaths: 1, aloneDeaths: 1, suspect: true, parked: false });
  });
});

describe("a retry of a failed run", () => {
  const failed = { closed: true, failed: true, eventCount: 4 };

  test("is for the newest run of its id, as the caller knows it", () => {
    expect(judgeReopening(failed, 4, () => true)).toBe("reopen");
    expect(judgeReopening(failed, 4, () => false)).toBe("superseded");
    expect(judgeReopening(failed, 3, () => true)).toBe("not_failed");
    expect(judgeReopening({ ...failed, failed: false }, 4, () => true)).toBe("not_failed");
  });

  test("that was made before is recognized by the events since", () => {
    const open = { closed: false, failed: false, eventCount: 5 };
    expect(judgeReopening(open, 4, () => true)).toBe("reopened");
    expect(judgeReopening(open, 5, () => true)).toBe("not_failed");
  });

  test("gives the run its whole time again, however far earlier ones have moved the deadline", () => {
    expect(renewedDeadline({ timeoutMs: 30, deadlineAt: 130 }, 1_000)).toBe(1_030);
    expect(renewedDeadline({ timeoutMs: 30, deadlineAt: 530 }, 1_000)).toBe(1_030);
    expect(renewedDeadline({ timeoutMs: 30, deadlineAt: null }, 1_000)).toBe(null);
    expect(renewedDeadline({ timeoutMs: null, deadlineAt: null }, 1_000)).toBe(null);
  });
});
