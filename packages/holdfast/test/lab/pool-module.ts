/** How a process of these tests runs TypeScript. */
export const EXEC_ARGV = ["--conditions=holdfast-source", "--import", "tsx"];
/** The module of the pools under test. */
export const MODULE = new URL("../pool/tasks.ts", import.meta.url);
