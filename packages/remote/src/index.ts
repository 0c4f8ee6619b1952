/** Holdfast's store behind a server. `connect("https://…")` loads it automatically. */
export { remote } from "./adapter.ts";
export { openStore } from "./open-store.ts";
