/** The command: npm run torture -- --help */
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { isHoldfastError } from "holdfast";
import { type OwnServer, startOwnServer } from "../scripts/test-servers.mjs";
import { Campaign } from "./campaign.ts";
import { CommandLineError, HELP, type Only, readCommandLine, type TortureRequest } from "./command-line.ts";
import { deathsAtRandom, type MovesResult, runMoves } from "./moves/move-campaign.ts";
import { faultsOf, type MutualProgress, runMutual } from "./mutual/mutual-load.ts";
import {
  beatLine,
  beatReport,
  faultCounts,
  finalReport,
  killsOf,
  movesReport,
  mutualLine,
  mutualReport,
  progressLine,
} from "./report.ts";
import { type BeatProgress, runBeats } from "./schedules/beat-campaign.ts";
import { openStage, type Stage } from "./stage.ts";

const MUTUAL = { intervalMs: 5_000, pairs: 150 };
const MOVES = { runs: 1_000, napMsMax: 80_000, deaths: deathsAtRandom(5, 120) };
const PROGRESS_MS = { terminal: 500, other: 15_000 };

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  try {
    const request = readCommandLine(args, Math.floor(Math.random() * 1_000_000));
    if (request !== "help") return await torture(request);
    process.stdout.write(HELP);
    return 0;
  } catch (error) {
    if (error instanceof CommandLineError) say(`torture: ${error.message}. Try: npm run torture -- --help`);
    else if (isHoldfastError(error)) say(`torture: ${error.message}`);
    else say(`torture: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    return 2;
  }
}

async function torture(request: TortureRequest): Promise<number> {
  const server = request.url === null ? await startOwnServer({ fsync: "on" }) : undefined;
  try {
    if (request.url === null && !server)
      throw new CommandLineError("PostgreSQL is not installed here; install it, or pass the URL of a server");
    const url = request.url === "sqlite" ? `file:${path.join(tmpdir(), "app.db")}` : request.url;
    const stage = await openStage(url ?? (server?.url as string));
    const { only } = request;
    if (only === "mutual") return await watchMutual(request, stage);
    if (only === "moves") return await tortureMoves(request, stage);
    if (only === "schedules") return await tortureSchedules(request, stage, server);
    return await runCampaign({ ...request, only }, stage, server);
  } finally {
    server?.stop();
  }
}

async function watchMutual({ minutes, json, keep }: TortureRequest, stage: Stage): Promise<number> {
  let last: MutualProgress | undefined;
  const stopProgress = showProgress(() => mutualLine(last, minutes));
  const onProgress = (progress: MutualProgress): void => {
    last = progress;
  };
  const ms = minutes * 60_000;
  try {
    const result = await runMutual({ stage, ms, intervalMs: MUTUAL.intervalMs, pairs: MUTUAL.pairs, onProgress });
    const faults = faultsOf(result);
    process.stdout.write(json ? `${JSON.stringify({ ...result, faults }, null, 2)}\n` : `${mutualReport(result)}\n`);
    return faults.length === 0 ? 0 : 1;
  } finally {
    stopProgress();
    if (!keep) await stage.remove();
  }
}

async function tortureMoves({ json, keep }: TortureRequest, server: Stage): Promise<number> {
  const file = await openStage(`file:${path.join(tmpdir(), "app.db")}`);
  const onProgress = (text: string): void => void (json || process.stderr.write(`${text}\n`));
  try {
    const results: MovesResult[] = [];
    for (const [from, to] of [
      [file, server],
      [server, file],
    ] as const)
      results.push(await runMoves({ from, to, ...MOVES, prefix: `${results.length}`, onProgress }));
    process.stdout.write(json ? `${JSON.stringify(results, null, 2)}\n` : `${results.map(movesReport).join("\n")}\n`);
    return results.every(({ faults }) => faults.length === 0) ? 0 : 1;
  } finally {
    if (!keep) await Promise.all([file.remove(), server.remove()]);
  }
}

async function tortureSchedules(
  { minutes, workers, seed, json, keep }: TortureRequest,
  stage: Stage,
  server: OwnServer | undefined,
): Promise<number> {
  let last: BeatProgress | undefined;
  const stopProgress = showProgress(() => beatLine(last, minutes));
  const onProgress = (progress: BeatProgress): void => {
    last = progress;
  };
  try {
    const result = await runBeats({ stage, ms: minutes * 60_000, workers, seed, server, onProgress });
    const report = json ? JSON.stringify({ seed, ...result }, null, 2) : beatReport(result, seed);
    process.stdout.write(`${report}\n`);
    const isFine = result.findings.length === 0 && result.accidents.length === 0;
    if (!keep && isFine) await stage.remove();
    return isFine ? 0 : 1;
  } finally {
    stopProgress();
  }
}

type CampaignRequest = TortureRequest & { readonly only: Only | undefined };

async function runCampaign(request: CampaignRequest, stage: Stage, server: OwnServer | undefined): Promise<number> {
  const { minutes, workers, seed, only, json } = request;
  const campaign = await Campaign.open({ stage, minutes, workers, seed, only, server });
  const startedAt = performance.now();
  const elapsedMs = (): number => performance.now() - startedAt;
  const stopProgress = showProgress(() => progressLine(campaign.tally, elapsedMs(), minutes));
  const stopListening = onInterrupt(campaign, async () => {
    await stage.remove().catch(() => {});
    server?.stop();
  });
  try {
    await campaign.run();
  } catch (error) {
    // The original failure matters more than what it leaves behind.
    await stage.remove().catch(() => {});
    throw error;
  } finally {
    stopProgress();
    stopListening();
  }
  const { tally } = campaign;
  const report = { elapsedMs: Math.round(elapsedMs()), seed, ...tally, kills: killsOf(tally), killsAt: tally.kills };
  if (json) process.stdout.write(`${JSON.stringify({ ...report, ...faultCounts(tally) }, null, 2)}\n`);
  else process.stdout.write(`${finalReport(tally, elapsedMs(), seed)}\n`);
  if (request.keep || tally.findings.length > 0)
    say(whereToLook(stage, tally.findings.length > 0, server !== undefined));
  else await stage.remove();
  return tally.findings.length === 0 && tally.accidents.length === 0 ? 0 : 1;
}

function whereToLook(stage: Stage, findings: boolean, ownServer: boolean): string {
  const { schema, url } = stage.place;
  const traces = `${path.join(stage.folder, "findings.json")} has the histories and the effects of the runs in question`;
  const store = schema === undefined ? `The store is ${url.replace(/^file:/, "")}.` : `The schema is ${schema}.`;
  const remove =
    schema === undefined ? `rm -r ${stage.folder}` : `drop schema ${schema} cascade; rm -r ${stage.folder}`;
  const parts = [
    ...(findings ? [`${traces}; the effects file beside it has the effects of all runs.`] : []),
    ...(ownServer ? [] : [`${store} When you are done: ${remove}`]),
  ];
  return parts.join("\n");
}

/**
 * On a terminal, one line that is overwritten; elsewhere, separate lines. Never on standard output: that is for the
 * report.
 */
function showProgress(line: () => string): () => void {
  const { isTTY } = process.stderr;
  const show = (): void => void process.stderr.write(isTTY ? `\r\u001b[K${line()}` : `${line()}\n`);
  const timer = setInterval(show, isTTY ? PROGRESS_MS.terminal : PROGRESS_MS.other);
  return () => {
    clearInterval(timer);
    if (isTTY) process.stderr.write("\r\u001b[K");
  };
}

/** The first interrupt lets the round end and be judged, the second one drops it. */
function onInterrupt(campaign: Campaign, cleanUp: () => Promise<void>): () => void {
  let asked = false;
  const drop = (code: number): void =>
    void campaign
      .abort()
      .then(cleanUp)
      .finally(() => process.exit(code));
  const listener = (): void => {
    if (asked) return drop(130);
    asked = true;
    say("\nstopping: waiting for the open runs to end, then judging them; press again to stop at once");
    campaign.end();
  };
  process.on("SIGINT", listener);
  process.on("SIGTERM", listener);
  const alone = (): void => drop(1);
  process.once("disconnect", alone);
  return () => {
    process.off("SIGINT", listener);
    process.off("SIGTERM", listener);
    process.off("disconnect", alone);
  };
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
