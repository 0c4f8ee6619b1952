// replay-check, bench and torture, and what the command says when it is used wrongly.
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import * as holdfast from "holdfast";
import { connect, HoldfastError, silentLogger } from "holdfast";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { KINDS, newFolder, newStore, run, StoreUnderTest, sampleCode } from "./command-under-test.ts";

const [changedCode, otherCode] = ["changed-code.ts", "other-code.ts"].map((name) =>
  path.join(path.dirname(sampleCode), name),
) as [string, string];

describe.each(KINDS)("replay-check on %s", (kind) => {
  let store: StoreUnderTest;
  const folder = newFolder();
  beforeAll(async () => {
    store = await StoreUnderTest.open(kind);
    await store.json("workflow", "start", "order", "--id", "open-1", "--input", '{"cents":5}');
    await store.json("workflow", "start", "double", "--id", "ended", "--input", '{"n":5}', "--wait");
    for (;;) if ((await store.hf.get("open-1").status()) === "waiting") break;
  });
  afterAll(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("code that fits replays, and nothing is executed", async () => {
    const { code, records } = await store.json("replay-check", sampleCode);
    expect(code).toBe(0);
    expect(records).toEqual([
      { id: "open-1", runId: expect.any(String), workflow: "order", version: "1", outcome: "same" },
      { summary: { checked: 1, same: 1, diverged: 0, parked: 0, noCode: 0, saved: 0 } },
    ]);
    expect(await store.hf.get("open-1").status()).toBe("waiting");
  });

  test("code that does not fit is exit code 7, with the run, the op and the line", async () => {
    const { code, records } = await store.json("replay-check", changedCode);
    expect(code).toBe(7);
    expect(records[0]).toMatchObject({
      id: "open-1",
      outcome: "diverged",
      seq: 1,
      op: "charge",
      location: expect.stringMatching(/changed-code\.ts:6:\d+$/),
      message: expect.stringContaining("does not match its history"),
    });
    const people = await store.run(["replay-check", changedCode], {
      cwd: path.dirname(changedCode),
      env: { GITHUB_ACTIONS: "true" },
    });
    expect(people.out).toContain("1 open run checked: 0 replay, 1 do not");
    expect(people.out).toMatch(/::error file=changed-code\.ts,line=6,col=\d+::Run open-1 of order/);
  });

  test("histories are saved, and checked later without the store", async () => {
    const histories = path.join(folder, "histories");
    const saved = await store.json("replay-check", "--save", histories);
    expect(saved.records).toEqual([{ summary: expect.objectContaining({ saved: 1 }) }]);
    const [file = ""] = readdirSync(histories);
    expect(statSync(path.join(histories, file)).mode & 0o077).toBe(0);
    expect((await run(["--json", "replay-check", sampleCode, "--from", histories])).code).toBe(0);
    expect((await run(["--json", "replay-check", changedCode, "--from", histories])).code).toBe(7);
  });

  test("a workflow that the files do not have is counted, and is no divergence", async () => {
    const { code, records } = await store.json("replay-check", otherCode);
    expect(code).toBe(0);
    expect(records[0]).toMatchObject({ id: "open-1", outcome: "no_code" });
  });

  test("a run that is parked for a bug which the code still has is named, and is no divergence", async () => {
    await store.json("workflow", "start", "buggy", "--id", "bug-1");
    for (;;) if ((await store.hf.get("bug-1").status()) === "parked") break;
    const argv = ["replay-check", sampleCode, "--workflow", "buggy"];
    const { code, records } = await store.json(...argv);
    expect(code).toBe(0);
    expect(records[0]).toMatchObject({
      id: "bug-1",
      outcome: "parked",
      location: expect.stringContaining("sample-code.ts"),
    });
    const people = await store.run(argv, { env: { GITHUB_ACTIONS: "true" } });
    expect(people.out).toContain("1 is parked for a bug that the code still has");
    expect(people.out).not.toContain("::error");
    // The same code for a run that has not come to a stop is a fault.
    const histories = path.join(folder, "bugs");
    await store.json("replay-check", "--save", histories, "--workflow", "buggy");
    const [file = ""] = readdirSync(histories);
    const text = readFileSync(path.join(histories, file), "utf8");
    writeFileSync(path.join(histories, file), text.replace('"parked":"workflow_bug"', '"parked":null'));
    const running = await store.json(...argv, "--from", histories);
    expect([running.code, running.records[0]]).toMatchObject([7, { outcome: "diverged" }]);
    await store.json("workflow", "terminate", "bug-1");
  });

  test("move refuses the store that the runs are in", async () => {
    expect((await store.json("move", "--to", store.url, "--all")).error.message).toContain(
      "the store that the runs are in",
    );
  });
});

describe.each(["SQLite", "PostgreSQL"] as const)("on %s", (kind) => {
  test("bench measures, and leaves no runs behind", async () => {
    const { url, remove } = newStore(kind);
    try {
      const { code, records } = await run(["--url", url, "--json", "bench", "--seconds", "1", "--in-flight", "5"], {
        random: () => 0.5,
      });
      expect(code).toBe(0);
      expect(records).toHaveLength(4);
      for (const record of records)
        expect(record).toMatchObject({
          what: expect.any(String),
          perSecond: expect.any(Number),
          p50Ms: expect.any(Number),
        });
      expect(records.every(({ runs }) => (runs as number) > 0)).toBe(true);
      expect(await runsIn(url, "bench-i")).toEqual([0, expect.toSatisfy((workers) => workers > 0)]);
    } finally {
      await remove();
    }
  });

  test("torture kills workers, finds nothing lost, and leaves no runs behind", { timeout: 60_000 }, async () => {
    const { url, remove } = newStore(kind);
    try {
      const { code, records } = await run(["--url", url, "--json", "torture", "--seconds", "1", "--workers", "2"], {
        random: () => 0.5,
      });
      expect(records).toMatchObject([{ faults: [], runs: expect.any(Number), kills: expect.any(Number) }]);
      expect((records[0] as { kills: number }).kills).toBeGreaterThan(0);
      expect(await runsIn(url, "torture-i")).toEqual([0, expect.toSatisfy((workers) => workers > 0)]);
      expect(code).toBe(0);
    } finally {
      await remove();
    }
  });
});

/** How many runs are in a namespace, and how many workers have been: the latter shows that it is the right one. */
async function runsIn(url: string, namespace: string): Promise<readonly [runs: number, workers: number]> {
  const hf = await connect(url, { namespace, logger: silentLogger });
  try {
    return [await hf.count(), (await hf.workers.list()).length];
  } finally {
    await hf.close();
  }
}

describe("used wrongly", () => {
  test("an unknown verb names the nearest, and is exit code 2", async () => {
    expect(await run(["workflow", "lst"])).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining('Did you mean "list"?'),
    });
    expect((await run(["--json", "wrkflow", "list"])).error).toMatchObject({
      code: "usage",
      message: expect.stringContaining('"workflow"'),
    });
    expect((await run(["workflow"])).code).toBe(2);
  });

  test("a verb without a store says what to do", async () => {
    const { code, err } = await run(["workflow", "list"]);
    expect([code, err]).toEqual([2, expect.stringContaining("--url file:app.db")]);
  });

  test("a server that nobody named and that does not answer is explained", async () => {
    // Whether something listens at the default address is up to the machine.
    const connect = async () => {
      throw new HoldfastError("store_unavailable", "The server cannot be reached");
    };
    const around = { packages: { "@holdfast/remote": {} }, core: async () => ({ ...holdfast, connect }) };
    const { code, err } = await run(["workflow", "list"], around);
    expect([code, err]).toEqual([4, expect.stringMatching(/No store or server was named.*--url.*holdfast dev/)]);
    const json = await run(["--json", "workflow", "list"], around);
    expect([json.code, json.error.code]).toEqual([4, "store_unavailable"]);
    const named = await run(["--url", "http://127.0.0.1:1", "token", "list"]);
    expect([named.code, named.err.includes("No store")]).toEqual([4, false]);
  });

  test("paths that cannot be read or written are named, with a reason and without a stack", async () => {
    const folder = newFolder();
    const file = path.join(folder, "file");
    writeFileSync(file, "{}");
    const { url, remove } = newStore("SQLite");
    await run(["--url", url, "workflow", "start", "order", "--input", '{"cents":1}']);
    const inFile = path.join(file, "below");
    const asked: [readonly string[], Record<string, string>, number, RegExp][] = [
      [["context", "add", "a", "--url", "memory:"], { HOLDFAST_CONFIG_DIR: inFile }, 2, /a part of its path is a file/],
      [["--url", url, "export", "--to", path.join(inFile, "runs.jsonl")], {}, 2, /cannot be written/],
      [["--url", url, "import", "--from", path.join(folder, "none.jsonl")], {}, 2, /cannot be read/],
      [
        ["--url", url, "replay-check", "--save", inFile],
        {},
        2,
        /below cannot be written: a part of its path is a file/,
      ],
      [["replay-check", sampleCode, "--from", path.join(folder, "none")], {}, 3, /there is no such file or folder/],
      [["--url", url, "workflow", "start", "order", "--input", "@none.json"], {}, 3, /none.json cannot be read/],
    ];
    for (const [argv, env, code, says] of asked) {
      const ran = await run(argv, { env, cwd: folder });
      expect([argv, ran.code, ran.err]).toEqual([argv, code, expect.stringMatching(says)]);
      expect(ran.err.trim().split("\n")).toHaveLength(1);
    }
    const dev = await run(["--json", "dev", sampleCode], { cwd: inFile });
    expect([dev.code, dev.error.code]).toEqual([2, "file_failed"]);
    rmSync(folder, { recursive: true, force: true });
    await remove();
  });

  test("what would lose something, or has been half done when it is refused, is refused before", async () => {
    const { url, remove } = newStore("SQLite");
    await run(["--url", url, "workflow", "start", "order", "--id", "o-1", "--input", '{"cents":1}']);
    const refused: [readonly string[], RegExp][] = [
      [["move", "--to", "memory:", "--all", "--yes"], /would end with this command/],
      [["move", "--to", "memory:shared", "--all", "--yes"], /would end with this command/],
      [["workflow", "start", "order", "--wait", "--timeout", "soon"], /--timeout is "soon"/],
      [["workflow", "start", "order", "--timeout", "5s"], /--run-timeout/],
      [["workflow", "result", "o-1", "--timeout", "5"], /--timeout is "5"/],
      [["retention", "set"], /--completed 30d/],
      [["context", "add", "a", "--url", "app.db"], /no store or server/],
    ];
    const config = newFolder();
    for (const [argv, says] of refused) {
      const ran = await run(argv, { env: { HOLDFAST_CONFIG_DIR: config, HOLDFAST_URL: url } });
      expect([argv, ran.code, ran.out, ran.err]).toEqual([argv, 2, "", expect.stringMatching(says)]);
    }
    rmSync(config, { recursive: true, force: true });
    expect((await run(["--url", url, "--json", "workflow", "list"])).records).toMatchObject([
      { id: "o-1", status: "pending" },
    ]);
    const named = await run(["--url", url, "workflow", "describe", "--", "--json"]);
    expect([named.code, named.err]).toEqual([3, expect.stringMatching(/^error: There is no run "--json"/)]);
    await remove();
  });

  test("a file that is not there is not created", async () => {
    const { code, error } = await run(["--url", "file:no-such-folder/app.db", "--json", "workflow", "list"]);
    expect([code, error.code]).toEqual([3, "store_not_found"]);
  });

  test("input that is not JSON is refused before anything is opened", async () => {
    const { code, err } = await run(["--url", "memory:", "workflow", "start", "order", "--input", "text"]);
    expect([code, err]).toEqual([2, expect.stringContaining("is not valid JSON")]);
  });

  test("server and dev without files say how to install the server", async () => {
    const { code, error } = await run(["--url", "memory:", "--json", "server"]);
    expect([code, error.code]).toEqual([2, "server_not_installed"]);
    expect((await run(["--json", "server"])).error.code).toBe("usage");
    const folder = newFolder();
    expect((await run(["--json", "dev"], { cwd: folder })).error.code).toBe("server_not_installed");
    rmSync(folder, { recursive: true, force: true });
  });

  test("a file without workflows, a file that fails, and a file that is missing are told apart", async () => {
    const folder = newFolder();
    const [nothing, broken] = [path.join(folder, "nothing.ts"), path.join(folder, "broken.ts")];
    writeFileSync(nothing, "export const a = 1;\n");
    writeFileSync(broken, 'throw new Error("no configuration");\n');
    const codes: unknown[] = [];
    for (const file of [nothing, broken, path.join(folder, "missing.ts")]) {
      const { code, error } = await run(["--url", "memory:", "--json", "worker", file]);
      codes.push([code, error.code]);
    }
    expect(codes).toEqual([
      [2, "nothing_exported"],
      [2, "code_not_loaded"],
      [3, "file_not_found"],
    ]);
    rmSync(folder, { recursive: true, force: true });
  });

  test("help is there for the command, a group and a verb", async () => {
    expect((await run([])).out).toContain("Develop and run");
    expect((await run(["help", "workflow", "start"])).out).toContain("--if-running");
    expect((await run(["schedule", "--help"])).out).toContain("backfill <id>");
    expect((await run(["workflow", "list", "--help"])).code).toBe(0);
  });
});

test("server serves the store with the package of its own, until it is told to stop", async () => {
  const calls: unknown[] = [];
  const stop = new AbortController();
  const openServer = async (options: object) => {
    calls.push(options);
    stop.abort();
    return {
      url: "http://127.0.0.1:7433",
      dashboard: "http://127.0.0.1:7433/",
      close: async (options?: object) => void calls.push(options),
    };
  };
  const argv = ["--url", "postgres://db/app", "server", "--port", "7433", "--auth", "keys", "--auth", "mtls"];
  const { code, out } = await run(argv, { packages: { "@holdfast/server": { openServer } }, interrupted: stop.signal });
  expect([code, out]).toEqual([0, "Holdfast listening on http://127.0.0.1:7433\nDashboard: http://127.0.0.1:7433/\n"]);
  const logger = expect.any(Object);
  expect(calls).toEqual([{ url: "postgres://db/app", port: 7433, auth: ["keys", "mtls"], logger }, { balancerMs: 0 }]);
});

test("payloads that are encrypted are read and written with the codec of a file", async () => {
  const { url, remove } = newStore("SQLite");
  const codec = path.join(path.dirname(sampleCode), "secret-codec.ts");
  const argv = ["--url", url, "--json", "workflow"];
  const started = await run([...argv, "start", "order", "--id", "s-1", "--input", '{"cents":7}', "--codec", codec]);
  expect(started.code).toBe(0);
  expect((await run([...argv, "describe", "s-1"])).error.code).toBe("codec_key_missing");
  const [described] = (await run([...argv, "describe", "s-1"], { env: { HOLDFAST_CODEC: codec } })).records;
  expect(described).toMatchObject({ input: { cents: 7 } });
  expect((await run([...argv, "list", "--codec", sampleCode])).error.message).toContain("exports no codec");
  await remove();
});

test("contexts are added, used, listed without their token, and removed", async () => {
  const folder = newFolder();
  const around = { env: { HOLDFAST_CONFIG_DIR: folder }, cwd: folder };
  const json = (...argv: string[]) => run(["--json", ...argv], around);
  await json("context", "add", "local", "--url", "file:app.db");
  await json("context", "add", "prod", "--url", "postgres://ann:pw@db/app", "--token", "secret", "--namespace", "shop");
  const listed = await json("context", "list");
  expect(listed.records).toEqual([
    { name: "local", url: `file://${path.join(folder, "app.db")}`, namespace: null, hasToken: false, current: true },
    { name: "prod", url: "postgres://ann:***@db/app", namespace: "shop", hasToken: true, current: false },
  ]);
  expect(listed.out).not.toContain("secret");
  expect((await json("migrate")).records).toMatchObject([{ url: `file://${path.join(folder, "app.db")}` }]);
  expect((await json("workflow", "count")).records).toEqual([{ count: 0 }]);
  expect((await json("context", "use", "prod")).code).toBe(0);
  expect((await json("context", "remove", "prod")).code).toBe(0);
  expect((await json("context", "use", "prod")).error.code).toBe("context_not_found");
  rmSync(folder, { recursive: true, force: true });
});

test("each shell gets a script that asks the command", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, out } = await run(["completion", shell]);
    expect([shell, code, out.includes("holdfast --complete")]).toEqual([shell, 0, true]);
  }
  expect((await run(["completion", "tcsh"])).code).toBe(2);
  expect((await run(["--complete", "sched"])).out).toBe("schedule\tschedule\n");
});
