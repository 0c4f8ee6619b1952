import { holdfast } from "./holdfast.ts";

export default holdfast("sqlite", "SQLite");
