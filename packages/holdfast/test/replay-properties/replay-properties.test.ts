import fc from "fast-check";
import { expect, test } from "vitest";
import { type ChangedCase, checkChangeIsFound } from "./changed-program.ts";
import { cases, checkCase, describeCase } from "./generated-case.ts";
import { describePlan, plans } from "./moves.ts";
import { programs } from "./program-arbitrary.ts";
import { casesToTry, checkProperty, timeoutMsFor } from "./property.ts";
import { pseudoCode } from "./pseudo-code.ts";
import { collectRejections } from "./rejections.ts";
import { Tally } from "./tally.ts";
import { checkWaitingEitherWay, type WaitingCase } from "./waiting-either-way.ts";

const CASES = casesToTry(1_200);
const HALF = Math.ceil(CASES / 2);

test("any program, replayed from anywhere, does exactly what it did", { timeout: timeoutMsFor(CASES) }, async () => {
  const tally = new Tally();
  const { ofChains } = await collectRejections(() =>
    checkProperty(cases, CASES, async (value) => tally.add(value.program, await checkCase(value)), describeCase),
  );
  // A generator that no longer reaches something would prove nothing about it.
  if (CASES < 1_000) return;
  expect(tally.neverSeen()).toEqual([]);
  expect(ofChains.length).toBeGreaterThan(0);
});

test("a program that was changed where history knows of it is found out", {
  timeout: timeoutMsFor(CASES),
}, async () => {
  const changedCases: fc.Arbitrary<ChangedCase> = fc.record({
    program: programs,
    plan: plans,
    pick: fc.nat(),
    change: fc.constantFrom("renamed", "of another kind", "preceded by a new timer"),
  });
  const describe = ({ program, plan, change, pick }: ChangedCase): string =>
    [pseudoCode(program), "", "what happens:", ...describePlan(plan), `one op is ${change} (pick ${pick})`].join("\n");
  let found = 0;
  await collectRejections(() =>
    checkProperty(
      changedCases,
      CASES,
      async (value) => {
        if (await checkChangeIsFound(value)) found += 1;
      },
      describe,
    ),
  );
  if (CASES >= 1_000) expect(found).toBeGreaterThan(CASES / 4);
});

test("what new code may do does not depend on whether receives have a timeout", {
  timeout: timeoutMsFor(HALF),
}, async () => {
  const waitingCases: fc.Arbitrary<WaitingCase> = fc.record({
    program: programs,
    plan: plans,
    crash: fc.nat(),
    pick: fc.nat(),
    added: fc.constantFrom("step", "sleep", "sideEffect", "patched", "receive"),
    otherPlan: plans,
  });
  const describe = ({ program, plan, crash, pick, added, otherPlan }: WaitingCase): string =>
    [
      pseudoCode(program),
      "",
      "what happens:",
      ...describePlan(plan),
      `a ${added} is added (pick ${pick}), crash ${crash}; what happens then:`,
      ...describePlan(otherPlan),
    ].join("\n");
  const seen = new Map<string, number>();
  await collectRejections(() =>
    checkProperty(
      waitingCases,
      HALF,
      async (value) => {
        const outcome = await checkWaitingEitherWay(value);
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
      },
      describe,
    ),
  );
  if (HALF < 500) return;
  expect(seen.get("diverged")).toBeGreaterThan(HALF / 30);
  expect(seen.get("went on")).toBeGreaterThan(HALF / 30);
});
