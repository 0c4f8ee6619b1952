import { requireSignal } from "../define/definitions.ts";
import { checkOptions, isId } from "../errors/option-checks.ts";
import { signalMessageId } from "../model/ids.ts";
import { tracedName } from "../model/trace-context.ts";
import type { CarriedMessage } from "../ports/store.ts";
import type { SignalDefinition } from "../replay/context/context.ts";
import { type Offering, requireOffered } from "../replay/context/offers.ts";
import { checkedPayload } from "./call-checks.ts";
import type { ClientCore } from "./client-core.ts";

const SIGNAL_OPTIONS = { id: isId("message id") };

/** A signal as it is sent, checked before anything is. `run`: the id of the run that it is sent to; absent if it is not sent. */
export async function prepareSignal(
  core: ClientCore,
  signal: SignalDefinition<never, never>,
  given: unknown,
  options: { readonly id?: string } | undefined,
  to: Offering | undefined,
  run?: string,
): Promise<CarriedMessage> {
  core.life.assertOpen();
  requireSignal(signal, "signal: the first argument");
  requireOffered(to, signal, "signal");
  const { name, schema } = signal;
  checkOptions(options, SIGNAL_OPTIONS, `signal "${name}"`);
  const checked = schema ? await checkedPayload(name, schema, given) : given;
  // A signal without a payload only says that it arrived. Undefined would look like a timeout.
  const payload = core.ports.codec.encode(checked === undefined ? true : checked, `payload of signal "${name}"`);
  const messageId = options?.id === undefined ? core.newId() : signalMessageId(name, options.id);
  return { kind: "signal", name: sentName(core, name, run), messageId, payload };
}

/** The trace in which it is sent goes with it. */
function sentName({ namespace, ports: { telemetry } }: ClientCore, name: string, to: string | undefined): string {
  if (!telemetry?.signal || to === undefined) return name;
  return tracedName(name, telemetry.signal({ namespace, signal: name, to }));
}
