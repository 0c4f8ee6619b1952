import { HoldfastError } from "../errors/holdfast-error.ts";
import { type Divergence, describeDivergence } from "./history/divergence.ts";
import type { Machine } from "./machine.ts";
import { TurnLoop } from "./turn-loop.ts";

/** Drives a run through its recorded history and stops there; nothing is executed. The machine shows the result. */
export function replayHistory<M extends Machine>(machine: M, immediate: (callback: () => void) => void): Promise<M> {
  const loop = new TurnLoop(immediate);
  return new Promise((resolve, reject) => {
    const taker = {
      inLine: false,
      openTurn(): boolean {
        try {
          if (!machine.started) {
            machine.start();
            return true;
          }
          if (machine.replayNext()) return true;
          resolve(machine);
        } catch (error) {
          // Stored bytes that cannot be read.
          reject(error);
        }
        return false;
      },
      closeTurn(): boolean {
        if (machine.runOn()) return true;
        machine.close();
        if (machine.divergence || machine.violation || !machine.replaying) resolve(machine);
        else loop.ready(taker);
        return false;
      },
    };
    loop.ready(taker);
  });
}

/**
 * Why a run whose code and history have diverged cannot continue. To locate the place in the code takes a second replay, by
 * a machine that records call sites.
 */
export async function explainDivergence(
  machine: Machine,
  looking: Machine,
  immediate: (callback: () => void) => void,
): Promise<HoldfastError> {
  const second = await replayHistory(looking, immediate);
  const divergence = second.divergence ?? (machine.divergence as Divergence);
  return new HoldfastError("replay_divergence", describeDivergence(divergence), { data: { ...divergence } });
}
