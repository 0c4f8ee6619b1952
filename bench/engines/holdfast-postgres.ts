import { holdfast } from "./holdfast.ts";

export default holdfast("postgres", "PostgreSQL");
