import type { OpenStore, StoreAdapter } from "holdfast/adapter";
import { openStore as open } from "./open-store.ts";

/** What `connect` looks for when it loads this package by its name. */
export const openStore: OpenStore = open;

/** For `connect("file:app.db", { adapters: [sqlite()] })`, where the package cannot be found by its name. */
export function sqlite(): StoreAdapter {
  return { name: "@holdfast/sqlite", schemes: ["file", "sqlite"], openStore };
}
