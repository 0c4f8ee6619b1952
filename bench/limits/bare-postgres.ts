import { bare } from "./bare.ts";

export default bare("postgres", "PostgreSQL");
