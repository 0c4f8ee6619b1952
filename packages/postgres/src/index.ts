export { openStore } from "./open-store.ts";
