import type { StoreAdapter } from "holdfast/adapter";
import { openStore } from "./open-store.ts";

/** For `connect("postgres://…", { adapters: [postgres()] })`, where the package cannot be loaded by name. */
export function postgres(): StoreAdapter {
  return { name: "@holdfast/postgres", schemes: ["postgres", "postgresql"], openStore };
}
