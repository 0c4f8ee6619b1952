/** `torture`: workers are killed while runs go on; the ledger must agree with the histories. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Client } from "holdfast";
import type { Call } from "../../command/call.ts";
import type { Action } from "../../command/verb.ts";
import { EXIT } from "../../io/exit-code.ts";
import { Interrupted } from "../../io/failure.ts";
import { shownUrl } from "../../io/target.ts";
import { type Findings, judge } from "./ledger-judge.ts";
import { empty, openOwnNamespace } from "./own-namespace.ts";
import { readLedger, tortureWorkflow } from "./torture-run.ts";

const SECONDS_DEFAULT = 10;
const WORKERS_DEFAULT = 3;
const OPEN_RUNS = 30;
const KILL_EVERY_MS = 400;
/** After the last kill, the runs must end in this time. */
const END_TIMEOUT = "60s";

export const torture: Action = async (call) => {
  const { hf, url } = await openOwnNamespace(call, "torture");
  const seconds = call.number("seconds") ?? SECONDS_DEFAULT;
  const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-torture-"));
  const ledger = path.join(folder, "ledger.jsonl");
  writeFileSync(ledger, "");
  const fleet = new Fleet(call, { url, namespace: hf.namespace, ledger });
  call.out.note(
    call.out.errorPaint.dim(`Killing workers on ${shownUrl(url)} for ${seconds} s, in namespace ${hf.namespace} …`),
  );
  try {
    // The time counts from when they all work.
    await call.unlessInterrupted(fleet.hire(call.number("workers") ?? WORKERS_DEFAULT));
    const started = await load(call, hf, fleet, seconds * 1_000, ledger);
    const outputs = new Map<string, unknown>();
    for (const id of started)
      outputs.set(id, await call.unlessInterrupted(hf.get(id).result({ timeout: END_TIMEOUT })));
    await fleet.end();
    return report(
      call,
      judge({ started, outputs, effects: readLedger(ledger), killed: fleet.killed }),
      fleet.killed.size,
    );
  } finally {
    await fleet.end();
    await empty(hf);
    rmSync(folder, { recursive: true, force: true });
  }
};

/** Starts runs and kills workers until the time is over. */
async function load(call: Call, hf: Client, fleet: Fleet, ms: number, ledger: string): Promise<string[]> {
  const { io } = call;
  const core = await call.core();
  const definition = tortureWorkflow(core, ledger);
  const go = core.signal<boolean>("go");
  const started: string[] = [];
  const ends = io.now() + ms;
  while (io.now() < ends) {
    if (io.interrupted.aborted) throw new Interrupted();
    const missing = OPEN_RUNS - (await hf.count({ status: ["pending", "running", "sleeping", "waiting"] }));
    for (let made = 0; made < missing; made += 1) {
      const n = started.length;
      const run = await hf.start(definition, { n }, { id: `torture-${n}` });
      await run.signal(go, true);
      started.push(run.id);
    }
    await io.wait(KILL_EVERY_MS * (0.25 + 0.75 * io.random()), io.interrupted);
    fleet.killOne();
  }
  return started;
}

function report(call: Call, findings: Findings, kills: number): number {
  const { out } = call;
  const { runs, effects, repeated, faults } = findings;
  out.record({ runs, kills, effects, repeated, faults });
  for (const fault of faults.slice(0, 20)) out.line(`${out.paint.red("✗")} ${fault}`);
  out.line(
    `${kills} workers killed. ${runs} runs completed with ${effects} effects; ${repeated} were done again, because their worker was killed before they were recorded.`,
  );
  const verdict =
    faults.length === 0
      ? `${out.paint.green("✓")} Nothing was lost, and nothing recorded was done again.`
      : `${out.paint.red("✗")} ${faults.length} faults. Please report them, with this output.`;
  out.line(verdict);
  return faults.length === 0 ? EXIT.done : EXIT.failed;
}

interface Place {
  readonly url: string;
  readonly namespace: string;
  readonly ledger: string;
}

/** The worker processes; one that is killed is replaced under the same name. */
class Fleet {
  readonly killed = new Set<number>();
  readonly #call: Call;
  readonly #place: Place;
  readonly #working = new Map<string, ChildProcess>();
  readonly #ended = new Set<Promise<void>>();
  #over = false;

  constructor(call: Call, place: Place) {
    this.#call = call;
    this.#place = place;
  }

  async hire(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, (_, index) => this.#spawn(`torture-${index + 1}`)));
  }

  /** Kills one that works, if there is one: a process that has not begun proves nothing. */
  killOne(): void {
    const names = [...this.#working.keys()];
    if (names.length === 0) return;
    const name = names[Math.floor(this.#call.io.random() * names.length)] as string;
    const child = this.#working.get(name) as ChildProcess;
    if (child.pid !== undefined) this.killed.add(child.pid);
    this.#working.delete(name);
    child.kill("SIGKILL");
    // Its successor may be ended together with all others before it works.
    void this.#spawn(name).catch(() => {});
  }

  /** Also those that have not begun: they end when they say that they work. */
  async end(): Promise<void> {
    this.#over = true;
    for (const child of this.#working.values()) child.kill("SIGKILL");
    this.#working.clear();
    await Promise.all(this.#ended);
  }

  /** Resolves when it works. */
  #spawn(name: string): Promise<void> {
    const { io } = this.#call;
    const { url, namespace, ledger } = this.#place;
    const program = fileURLToPath(new URL(`./torture-child${path.extname(import.meta.url)}`, import.meta.url));
    const child = spawn(io.self.program, [...io.self.nodeArgs, program, url, namespace, name, ledger], {
      cwd: io.cwd,
      env: io.env,
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const ended = new Promise<void>((resolve) => {
      child.once("exit", () => resolve());
      child.once("error", () => resolve());
    });
    this.#ended.add(ended);
    void ended.then(() => this.#ended.delete(ended));
    return new Promise((resolve, reject) => {
      child.once("message", () => {
        if (this.#over) child.kill("SIGKILL");
        else this.#working.set(name, child);
        resolve();
      });
      void ended.then(() => reject(new Error(`Worker ${name} ended before it worked: see its output above.`)));
    });
  }
}
