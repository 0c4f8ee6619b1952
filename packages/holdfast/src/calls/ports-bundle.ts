import type { Limits } from "../model/limits.ts";
import type { AccessStore } from "../ports/access.ts";
import type { Clock } from "../ports/clock.ts";
import type { Codec } from "../ports/codec.ts";
import type { Environment } from "../ports/environment.ts";
import type { Logger } from "../ports/logger.ts";
import type { Notifier } from "../ports/notifier.ts";
import type { Random } from "../ports/random.ts";
import type { StepInterceptor } from "../ports/step-interceptor.ts";
import type { Store } from "../ports/store.ts";
import type { TaskInterceptor } from "../ports/task-interceptor.ts";
import type { TaskProcesses } from "../ports/task-processes.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { Webhooks } from "../ports/webhooks.ts";

/** The outside world as the engine sees it. A composition root (connect, the test engine, the simulator) builds one. */
export interface PortsBundle {
  readonly clock: Clock;
  readonly random: Random;
  readonly codec: Codec;
  readonly log: Logger;
  readonly store: Store;
  readonly notifier: Notifier;
  /** For these three, see OpenedStore. */
  readonly access?: AccessStore;
  readonly place?: string;
  readonly commitsInFlightMax?: number;
  /** Without it the engine knows nothing of the process that it runs in. */
  readonly environment?: Environment;
  readonly steps?: StepInterceptor;
  readonly tasks?: TaskInterceptor;
  /** Child processes that execute tasks. Without them, tasks are executed here, whatever a worker asks for. */
  readonly processes?: TaskProcesses;
  /** The codec is the JSON codec itself: whoever has this package can read its payloads. */
  readonly plainCodec?: boolean;
  readonly limits?: Limits;
  /** What happens when a run's function returns while ops are pending: a warning, unless a test asks for a failure. */
  readonly onForgotten?: "fail" | "warn";
  /** The lease of workers whose options have none; tests need one that is longer than any duration. */
  readonly leaseMs?: number;
  /** How many events a segment has, if not as many as have been measured to pay; the simulator packs short histories, too. */
  readonly eventsPerSegment?: number;
  /** Opens another store as this one was opened, and returns its client: for moves to a URL. */
  readonly connectTo?: (url: string) => Promise<object>;
  readonly telemetry?: Telemetry;
  /** How alerts leave the process; over the network, if not said otherwise. */
  readonly webhooks?: Webhooks;
  /** Leaders keep watch, and report, even if no worker has rules. Not where time is virtual: there, only what was asked for happens. */
  readonly watches?: true;
  /** Applied to every text of an error before it is stored, after credentials have been masked. */
  readonly redact?: (text: string) => string;
}
