/** What the processes of `npm run bench -- remote` have in common. */
import { performance } from "node:perf_hooks";
import { openStore as openRemoteStore } from "@holdfast/remote";
import { silentLogger } from "holdfast";
import { type OpenedStore, type OpenStore, systemPorts } from "holdfast/adapter";

export const STEPS = 10;
const IDLE_CALLS = 400;

/** The median of single calls, one after the other: a read of one row that is not there. */
export async function idleCallMs(url: string): Promise<number> {
  const opened = await openAny(url);
  const runs = [{ namespace: "default", id: "nobody" }];
  const times: number[] = [];
  for (let i = 0; i < IDLE_CALLS; i += 1) {
    const began = performance.now();
    await opened.store.runs.read({ runs });
    times.push(performance.now() - began);
  }
  await opened.store.close();
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] as number;
}

export async function openAny(url: string): Promise<OpenedStore> {
  const options = { ...systemPorts, log: silentLogger };
  if (url.startsWith("http:")) return openRemoteStore(url, options);
  const name = url.startsWith("file:") ? "@holdfast/sqlite" : "@holdfast/postgres";
  const { openStore } = (await import(name)) as { openStore: OpenStore };
  return openStore(url, options);
}
