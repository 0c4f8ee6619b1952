import type { StoreAdapter } from "holdfast/adapter";
import { openStore } from "./open-store.ts";

/** For `connect("https://…", { adapters: [remote()] })`, where the package cannot be loaded by name. */
export function remote(): StoreAdapter {
  return { name: "@holdfast/remote", schemes: ["http", "https"], openStore };
}
