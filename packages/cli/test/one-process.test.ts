// All of it in one process, for whoever wants no more than one.
import { serverDashboard } from "@holdfast/dashboard/server";
import { openServer } from "@holdfast/server";
import { connect, silentLogger } from "holdfast";
import { expect, onTestFinished, test } from "vitest";
import { eventually, newStore } from "./command-under-test.ts";
import { double, mailing, sendMail } from "./sample-code.ts";

test("one process executes runs, fires schedules, serves workers elsewhere, and shows all of it in the dashboard", async () => {
  const { url, remove } = newStore("SQLite");
  const logger = silentLogger;
  const hf = await connect(url, { logger });
  const server = await openServer({ url, port: 0, logger, dashboard: serverDashboard });
  const elsewhere = await connect(server.url, { logger });
  onTestFinished(async () => {
    await elsewhere.close();
    await server.close();
    await hf.close();
    await remove();
  });
  await hf.worker({ workflows: [double, mailing], name: "here" }).start();
  await elsewhere.worker({ tasks: [sendMail], name: "elsewhere" }).start();
  await hf.schedules.create({ id: "often", workflow: double, input: { n: 21 }, every: "1s" });

  expect(await hf.run(mailing, { to: "ann" }, { id: "mail" })).toBe("sent to ann");
  await eventually(() => hf.count({ workflow: "double", status: "completed" })).toBeGreaterThan(0);

  const shown = async (path: string): Promise<string> => (await fetch(`${server.dashboard}api/default/${path}`)).text();
  expect(await shown("runs")).toContain('"mail"');
  expect(await shown("schedules")).toContain('"often"');
  const workers = await shown("workers");
  for (const name of ["here", "elsewhere"]) expect(workers).toContain(`"${name}"`);
});
