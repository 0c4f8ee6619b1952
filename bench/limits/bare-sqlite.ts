import { bare } from "./bare.ts";

export default bare("sqlite", "SQLite");
