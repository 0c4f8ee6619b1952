import type { ClaimRunsParams, DeliverMessage, DeliverMessagesParams, RunRef } from "holdfast/adapter";
import { bytes } from "../sample-data.ts";
import type { Call } from "./call.ts";
import { someRun, someWorkerId } from "./choices.ts";
import type { Dice } from "./dice.ts";
import type { World } from "./world.ts";

export function deliverCall(world: World, dice: Dice): Call {
  const holdBy = dice.chance(0.5) ? { workerId: someWorkerId(world, dice), claimId: world.newClaimId() } : undefined;
  const messages = Array.from({ length: 1 + dice.int(3) }, (): DeliverMessage => {
    const used = dice.chance(0.25) ? dice.pick(world.messageIds) : undefined;
    const kind = dice.chance(0.3) ? dice.of("cancel", "cancel", "pause", "resume", "note") : "signal";
    const to = someRun(world, dice);
    return {
      to,
      kind,
      name: kind === "signal" ? dice.of("approved", "paid") : dice.of("", "enough"),
      messageId: used ?? world.newMessageId(),
      payload: bytes(kind === "signal" ? String(dice.int(100)) : dice.of("", '"ana"')),
      ...(holdBy && dice.chance(0.8) ? someHold(world, dice, to) : {}),
      ...(kind === "signal" || dice.chance(0.5) ? {} : { epoch: dice.int(4) }),
    };
  });
  const distinct = messages.filter(
    ({ messageId }, i) => messages.findIndex((other) => other.messageId === messageId) === i,
  );
  const inboxMax = dice.of(2, 5, 1_000);
  return { method: "inbox.deliver", params: { messages: distinct, inboxMax, ...(holdBy && { holdBy }) } };
}

/** Usually the run that the message is for, as it is. */
function someHold(world: World, dice: Dice, to: RunRef): Pick<DeliverMessage, "hold"> {
  const meant = world.contents.runs.findLast(({ runId, id }) => ("runId" in to ? runId === to.runId : id === to.id));
  const row = dice.chance(0.95) ? meant : dice.pick(world.contents.runs);
  return row ? { hold: { runId: row.runId, epoch: row.epoch + (dice.chance(0.9) ? 0 : dice.of(-1, 1)) } } : {};
}

/** The answer to a delivery was lost: what has it taken? */
export function takenCall({ messages, holdBy }: DeliverMessagesParams): Call | undefined {
  const namespace = messages.find(({ hold }) => hold)?.to.namespace;
  if (!holdBy || namespace === undefined) return undefined;
  const params: ClaimRunsParams = {
    ...holdBy,
    namespace,
    queues: [],
    handlers: [],
    again: true,
    limit: 0,
    solo: false,
  };
  return { method: "runs.claim", params };
}
