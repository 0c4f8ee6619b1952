/** Holdfast's store on one SQLite file. `connect("file:app.db")` loads it by itself. */
export { openStore, type SqliteStoreOptions } from "./open-store.ts";
