import type { Call } from "../../command/call.ts";
import { isServer } from "../../io/open.ts";
import type { Operator } from "./operator.ts";
import { ServerOperator } from "./server-operator.ts";
import { openStoreOperator } from "./store-operator.ts";

/** `create`: also a store that is not there yet. */
export async function withOperator(
  call: Call,
  work: (operator: Operator) => Promise<undefined>,
  { create = false } = {},
): Promise<undefined> {
  const operator = await open(call, create);
  try {
    return await work(operator);
  } finally {
    await operator.close();
  }
}

async function open(call: Call, create: boolean): Promise<Operator> {
  const target = call.target();
  if (isServer(target.url)) return new ServerOperator(call, target);
  return openStoreOperator(call, target.url, create);
}
