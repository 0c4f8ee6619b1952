import type { QueueLimits } from "holdfast/adapter";
import type { Sabotage, Saboteur } from "./saboteur.ts";

/** Queues with limits that let in too many, too few, or the wrong ones. */
export const PLACES_IN_QUEUES: readonly Sabotage[] = [
  {
    it: "gives one place more than the limit allows",
    noun: "places in a queue with limits",
    breaks: (it) => ({
      "runs.claim": (params) =>
        withLimits(
          it,
          (limits) => ({ ...limits, ...oneMore(limits) }),
          () => it.runs.claim(params),
        ),
    }),
  },
  {
    it: "keeps the place of a run that was terminated",
    noun: "places in a queue with limits",
    breaks: (it) => ({
      "runs.terminate": (params) => keepingPlaces(it, () => it.runs.terminate(params)),
    }),
  },
  {
    it: "keeps the place of a run that has ended in a commit",
    noun: "places in a queue with limits",
    breaks: (it) => ({
      "runs.commit": (params) => keepingPlaces(it, () => it.runs.commit(params)),
    }),
  },
  {
    it: "holds a run at its start although its queue has limits",
    noun: "places in a queue with limits",
    breaks: (it) => ({
      "runs.start": async (params) => {
        const limited = [...it.state.limited];
        it.state.limited.clear();
        const result = await it.runs.start(params);
        for (const [name, queue] of limited) it.state.limited.set(name, queue);
        return result;
      },
    }),
  },
  {
    it: "lets a paused run stay in line",
    noun: "places in a queue with limits",
    breaks: (it) => ({
      "runs.pauseIfIdle": async (params) => {
        const before = [...it.state.inLine];
        const outcome = await it.runs.pauseIfIdle(params);
        for (const [key, entry] of before) {
          it.state.inLine.set(key, entry);
          entry.limited.lines.set(entry.key, (entry.limited.lines.get(entry.key) ?? new Set()).add(entry));
        }
        return outcome;
      },
    }),
  },
  {
    it: "counts nothing that had begun before its queue had limits",
    noun: "places in a queue with limits",
    breaks: (it) => ({
      "queues.setIfRevision": async (params) => {
        const before = new Set(it.state.places.keys());
        const result = await it.queues.setIfRevision(params);
        for (const entry of it.state.places.keys()) if (!before.has(entry)) givePlaceBack(it, entry);
        return result;
      },
    }),
  },
  {
    it: "sets the limits of a queue whatever its revision",
    noun: "places in a queue with limits",
    breaks: (it) => ({
      "queues.setIfRevision": async (params) => {
        const result = await it.queues.setIfRevision(params);
        return result.outcome === "written"
          ? result
          : it.queues.setIfRevision({ ...params, revision: result.revision });
      },
    }),
  },
  {
    it: "forgets the revision of a queue whose limits are removed",
    noun: "places in a queue with limits",
    breaks: (it) => ({
      "queues.setIfRevision": async (params) => {
        const result = await it.queues.setIfRevision(params);
        if (params.limits === null) it.state.queueRevisions.clear();
        return result;
      },
    }),
  },
  {
    it: "always begins with the same key",
    noun: "lines before a queue with limits",
    breaks: (it) => ({
      "runs.claim": async (params) => {
        for (const queue of it.state.limited.values())
          for (const key of queue.keys.values()) queue.keys.set(key.key, { ...key, virtualTime: 0 });
        return it.runs.claim(params);
      },
    }),
  },
  {
    it: "gives a key that comes back all the turns that it has missed",
    noun: "lines before a queue with limits",
    rare: true,
    breaks: (it) => ({
      "runs.claim": async (params) => {
        for (const queue of it.state.limited.values()) queue.state = { ...queue.state, virtualTime: 0 };
        return it.runs.claim(params);
      },
    }),
  },
  {
    it: "does not look at weights",
    noun: "lines before a queue with limits",
    breaks: (it) => ({
      "runs.claim": (params) =>
        withLimits(
          it,
          ({ weights: _weights, ...rest }) => rest,
          () => it.runs.claim(params),
        ),
    }),
  },
  {
    it: "does not look at ages",
    noun: "lines before a queue with limits",
    breaks: (it) => ({
      "runs.claim": (params) =>
        withLimits(
          it,
          ({ agingMs: _agingMs, ...rest }) => rest,
          () => it.runs.claim(params),
        ),
    }),
  },
  {
    it: "forgets which tokens were used",
    noun: "lines before a queue with limits",
    breaks: (it) => ({
      "runs.claim": async (params) => {
        for (const queue of it.state.limited.values()) {
          queue.state = { ...queue.state, bucket: null };
          for (const key of queue.keys.values()) queue.keys.set(key.key, { ...key, bucket: null });
        }
        return it.runs.claim(params);
      },
    }),
  },
  {
    it: "loses the tokens that come while something waits and a claim is late",
    noun: "lines before a queue with limits",
    rare: true,
    breaks: (it) => ({ "runs.claim": (params) => withTokensAwaited(it, false, () => it.runs.claim(params)) }),
  },
  {
    it: "keeps more than a burst of the tokens that come in a pause",
    noun: "lines before a queue with limits",
    rare: true,
    breaks: (it) => ({ "runs.claim": (params) => withTokensAwaited(it, true, () => it.runs.claim(params)) }),
  },
  {
    it: "keeps the places of tasks that were finished",
    noun: "places of tasks",
    breaks: (it) => ({
      "tasks.finish": (params) => keepingPlaces(it, () => it.tasks.finish(params)),
    }),
  },
  {
    it: "executes a suspect task beyond the limit",
    noun: "places of tasks",
    rare: true,
    breaks: (it) => ({
      "workers.sweep": async (params) => {
        const result = await it.workers.sweep(params);
        for (const { runId, seq, suspect } of it.taskRows()) if (suspect) givePlaceBack(it, `${runId}/${seq}`);
        return result;
      },
    }),
  },
  {
    it: "gives every task the key of its run",
    noun: "places of tasks",
    breaks: (it) => ({
      "runs.commit": ({ commits }) =>
        it.runs.commit({
          commits: commits.map(({ tasks, ...commit }) =>
            tasks ? { ...commit, tasks: tasks.map(({ key: _key, ...task }) => task) } : commit,
          ),
        }),
    }),
  },
  {
    it: "starts a run for each debounced start",
    noun: "starts that wait",
    breaks: (it) => ({
      "runs.debounce": async (params) => {
        it.state.debounces.clear();
        return it.runs.debounce(params);
      },
    }),
  },
  {
    it: "refuses no start",
    noun: "starts that wait",
    breaks: (it) => ({
      "runs.start": (params) => it.runs.start({ ...params, bounded: false }),
    }),
  },
  {
    it: "gives the last place of a key twice",
    noun: "races for places",
    breaks: (it) => ({
      "runs.claim": (params) =>
        withLimits(
          it,
          ({ perKey = {}, ...limits }) => ({ ...limits, perKey: { ...perKey, ...oneMore(perKey) } }),
          () => it.runs.claim(params),
        ),
    }),
  },
];

function oneMore({ concurrency }: { readonly concurrency?: number }): { readonly concurrency?: number } {
  return concurrency === undefined ? {} : { concurrency: concurrency + 1 };
}

async function withLimits<T>(
  it: Saboteur,
  change: (limits: QueueLimits) => QueueLimits,
  call: () => Promise<T>,
): Promise<T> {
  const before = [...it.state.limited.values()].map((queue) => [queue, queue.limits] as const);
  for (const [queue, limits] of before) queue.limits = change(limits);
  const result = await call();
  for (const [queue, limits] of before) queue.limits = limits;
  return result;
}

function withTokensAwaited<T>(it: Saboteur, awaited: boolean, call: () => Promise<T>): Promise<T> {
  for (const queue of it.state.limited.values()) {
    const { bucket } = queue.state;
    if (bucket) queue.state = { ...queue.state, bucket: { ...bucket, awaited } };
  }
  return call();
}

function givePlaceBack(it: Saboteur, entry: string): void {
  const place = it.state.places.get(entry);
  if (!place) return;
  const { limited, key } = place;
  it.state.places.delete(entry);
  limited.state = { ...limited.state, running: limited.state.running - 1 };
  const known = limited.keys.get(key);
  if (known) limited.keys.set(key, { ...known, running: known.running - 1 });
}

/** Places that the call gives back stay taken. */
async function keepingPlaces<T>(it: Saboteur, call: () => Promise<T>): Promise<T> {
  const before = [...it.state.places];
  const result = await call();
  for (const [name, place] of before) {
    if (it.state.places.has(name)) continue;
    const { limited, key } = place;
    it.state.places.set(name, place);
    limited.state = { ...limited.state, running: limited.state.running + 1 };
    const known = limited.keys.get(key);
    if (known) limited.keys.set(key, { ...known, running: known.running + 1 });
  }
  return result;
}
