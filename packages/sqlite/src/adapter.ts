import type { OpenStore, StoreAdapter } from "holdfast/adapter";
import { openStore as open } from "./open-store.ts";

/** `connect` looks for this export when it loads the package by name. */
export const openStore: OpenStore = open;

/** For `connect("file:app.db", { adapters: [sqlite()] })`, where the package cannot be loaded by name. */
export function sqlite(): StoreAdapter {
  return { name: "@holdfast/sqlite", schemes: ["file", "sqlite"], openStore };
}
