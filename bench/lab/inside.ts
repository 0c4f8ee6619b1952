/** One part of a workload, in the process in which it is measured. */
import { GCProfiler } from "node:v8";
import type { Engine, EngineDefinition, Figures, OpenParams, Serves, Size } from "./engine.ts";
import { Hooks } from "./hooks.ts";

export interface Job {
  readonly workload: string;
  readonly part: string;
  readonly engine: string;
  readonly url: string;
  readonly folder: string;
  readonly size: Size;
  readonly again?: boolean;
  readonly clientOnly?: boolean;
  readonly serves?: Serves;
}

export interface Inside {
  readonly engine: Engine;
  readonly hooks: Hooks;
  readonly job: Job;
  readonly size: Size;
  /**
   * The setup or a stage is over: the bench reads its counters before this resolves. Counting starts at `begin` and
   * ends at `finish`.
   */
  mark(name: string): Promise<void>;
  /** Waits for a message from the bench, if several processes work together. */
  hear(word: string): Promise<void>;
}

type Part = (inside: Inside) => Promise<Figures>;

export interface InsideParams {
  readonly job: Job;
  readonly definition: EngineDefinition;
  readonly part: Part;
  readonly mark: (name: string) => Promise<void>;
  readonly hear?: (word: string) => Promise<void>;
}

export async function runInside({ job, definition, part, mark, hear }: InsideParams): Promise<Figures> {
  const hooks = new Hooks();
  const { url, folder, workload, size } = job;
  const params: OpenParams = {
    url,
    folder,
    workload,
    size,
    hooks,
    again: job.again ?? false,
    clientOnly: job.clientOnly ?? false,
    serves: job.serves ?? "everything",
  };
  const bare = definition.bare?.[workload];
  const engine = bare ? NOTHING : await opened(definition, params);
  let cost = new Cost();
  let costs: Figures | undefined;
  try {
    const inside: Inside = {
      engine,
      hooks,
      job,
      size,
      hear: hear ?? (() => Promise.reject(new Error("this part needs a bench to talk to"))),
      mark: async (name) => {
        if (name === "finish") costs = cost.end();
        await mark(name);
        if (name === "begin") cost = new Cost();
      },
    };
    const figures = await (bare ?? part)(inside);
    return { ...figures, ...(costs ?? cost.end()) };
  } finally {
    await engine.close();
  }
}

const NOTHING: Engine = {
  start: () => Promise.reject(new Error("a limit has no engine")),
  pending: async () => 0,
  close: async () => {},
};

function opened(definition: EngineDefinition, params: OpenParams): Promise<Engine> {
  if (!definition.open) throw new Error(`${definition.name} cannot do ${params.workload}`);
  return definition.open(params);
}

/** Processor time and heap allocations of this process. */
class Cost {
  readonly #cpu = process.cpuUsage();
  readonly #heapBytes = process.memoryUsage().heapUsed;
  readonly #gc = new GCProfiler();

  constructor() {
    this.#gc.start();
  }

  end(): Figures {
    const { user, system } = process.cpuUsage(this.#cpu);
    return { nodeCpuSeconds: (user + system) / 1e6, allocatedBytes: this.#allocatedBytes() };
  }

  /** The sum of what was allocated between one collection and the next: exact, and almost free while it runs. */
  #allocatedBytes(): number {
    const collections = this.#gc.stop()?.statistics ?? [];
    let allocated = 0;
    let before = this.#heapBytes;
    for (const { beforeGC, afterGC } of collections) {
      allocated += Math.max(0, beforeGC.heapStatistics.usedHeapSize - before);
      before = afterGC.heapStatistics.usedHeapSize;
    }
    return allocated + Math.max(0, process.memoryUsage().heapUsed - before);
  }
}
