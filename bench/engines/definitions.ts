/** Every engine that can be measured, by name. A peer's file is loaded only if that peer is requested. */
import type { EngineDefinition } from "../lab/engine.ts";

const FILES: Readonly<Record<string, () => Promise<{ default: EngineDefinition }>>> = {
  "holdfast-postgres": () => import("./holdfast-postgres.ts"),
  "holdfast-sqlite": () => import("./holdfast-sqlite.ts"),
  "bare-postgres": () => import("../limits/bare-postgres.ts"),
  "bare-sqlite": () => import("../limits/bare-sqlite.ts"),
  dbos: () => load("dbos"),
  openworkflow: () => load("openworkflow"),
  "openworkflow-sqlite": () => load("openworkflow-sqlite"),
  restate: () => load("restate"),
  "graphile-worker": () => load("graphile-worker"),
  "pg-boss": () => load("pg-boss"),
};

export const OWN = ["bare-postgres", "holdfast-postgres", "bare-sqlite", "holdfast-sqlite"] as const;
export const PEERS = Object.keys(FILES).filter((name) => !OWN.some((own) => own === name));

export async function definitionOf(name: string): Promise<EngineDefinition> {
  const file = FILES[name];
  if (!file) throw new Error(`There is no engine called ${name}. Choose from: ${Object.keys(FILES).join(", ")}.`);
  return (await file()).default;
}

/** The peers are plain JavaScript: their packages, and so their types, are not installed with the repository. */
function load(peer: string): Promise<{ default: EngineDefinition }> {
  return import(new URL(`../peers/${peer}.mjs`, import.meta.url).href) as Promise<{ default: EngineDefinition }>;
}
