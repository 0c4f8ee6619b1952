import { HoldfastError } from "holdfast";

/** What was thrown, or what the promise was rejected with. */
export async function refusal(call: () => unknown): Promise<HoldfastError> {
  try {
    await call();
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}
