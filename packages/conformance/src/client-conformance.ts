import { describe, test } from "vitest";
import { batching } from "./client/batching.ts";
import { causes } from "./client/causes.ts";
import { ClientFixture } from "./client/client-fixture.ts";
import type { ClientSuite, OpenUrl } from "./client/client-suite.ts";
import { closing } from "./client/closing.ts";
import { codecs } from "./client/codecs.ts";
import { codecsBetweenRuns } from "./client/codecs-between-runs.ts";
import { forking } from "./client/forking.ts";
import { historyWindows } from "./client/history-windows.ts";
import { manyMessages } from "./client/many-messages.ts";
import { onCall } from "./client/on-call.ts";
import { pausing } from "./client/pausing.ts";
import { reencoding } from "./client/reencoding.ts";
import { retrying } from "./client/retrying.ts";
import { signaling } from "./client/signaling.ts";
import { starting } from "./client/starting.ts";
import { startingByName } from "./client/starting-by-name.ts";
import { taskLimits } from "./client/task-limits.ts";
import { taskTokens } from "./client/task-tokens.ts";
import { tasks } from "./client/tasks.ts";
import { wrongArguments } from "./client/wrong-arguments.ts";

const SUITES: readonly ClientSuite[] = [
  closing,
  wrongArguments,
  starting,
  startingByName,
  signaling,
  manyMessages,
  onCall,
  causes,
  historyWindows,
  pausing,
  forking,
  batching,
  retrying,
  tasks,
  taskLimits,
  taskTokens,
  codecs,
  codecsBetweenRuns,
  reencoding,
];

/**
 * Registers the tests that every client passes on every store. `open` returns the URL of a new, empty store for each
 * test.
 */
export function clientConformance(name: string, open: OpenUrl): void {
  describe(`a client on ${name}`, () => {
    for (const { noun, cases } of SUITES) {
      describe(noun, () => {
        for (const [title, run] of Object.entries(cases)) test(title, () => runClientCase(open, run));
      });
    }
  });
}

async function runClientCase(open: OpenUrl, run: (t: ClientFixture) => Promise<void>): Promise<void> {
  const fixture = new ClientFixture(await open());
  try {
    await run(fixture);
  } finally {
    await fixture.close();
  }
}
