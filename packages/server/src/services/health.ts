/** grpc.health.v1: whether the server serves. */

import { Code, ConnectError } from "@connectrpc/connect";
import { type Health, HealthCheckResponse_ServingStatus as Serving } from "@holdfast/protocol";
import type { Clock } from "holdfast/adapter";
import type { Handlers } from "./call.ts";
import { patience } from "./long-poll.ts";

const LOOK_EVERY_MS = 5_000;

export interface HealthParams {
  readonly clock: Clock;
  /** Empty if the server can do its work; else why not. */
  readonly unready: () => Promise<string>;
  readonly isService: (name: string) => boolean;
}

export function healthService({ clock, unready, isService }: HealthParams): Handlers<typeof Health> {
  const statusOf = async (service: string): Promise<Serving> => {
    if (service !== "" && !isService(service)) return Serving.SERVICE_UNKNOWN;
    return (await unready()) === "" ? Serving.SERVING : Serving.NOT_SERVING;
  };
  return {
    async check({ service }) {
      const status = await statusOf(service);
      if (status === Serving.SERVICE_UNKNOWN) throw new ConnectError("There is no such service.", Code.NotFound);
      return { status };
    },

    async *watch({ service }, call) {
      let told: Serving | undefined;
      while (!call.signal.aborted) {
        const status = await statusOf(service);
        if (status !== told) yield { status };
        told = status;
        if (call.draining.aborted) return;
        const wait = patience(clock, LOOK_EVERY_MS, call);
        await wait.over;
      }
    },
  };
}
