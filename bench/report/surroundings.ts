/** The machine and the versions that figures belong to. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, release, totalmem, type } from "node:os";
import { fileURLToPath } from "node:url";
import type { EngineDefinition } from "../lab/engine.ts";
import { peerNode } from "../lab/seat.ts";

export function machine(): Record<string, string> {
  const [cpu] = cpus();
  return {
    processor: `${cpus().length} cores, ${cpu?.model.trim() ?? "unknown"}, shared with the server`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    system: `${type()} ${release().split("-")[0]}`,
  };
}

export function versions(postgres: string, definitions: readonly EngineDefinition[]): Record<string, string> {
  const peers = definitions.filter(({ kind }) => kind === "engine" || kind === "queue") as PeerDefinition[];
  const packages = [...new Set(peers.flatMap((peer) => peer.packages ?? []))];
  return {
    Node: process.versions.node,
    PostgreSQL: postgres.split(" ")[0] ?? postgres,
    ...Object.fromEntries(packages.map((name) => [name, versionOf(name)])),
    ...(packages.length > 0
      ? { "Node of the peers": execFileSync(peerNode(), ["-p", "process.versions.node"]).toString().trim() }
      : {}),
  };
}

interface PeerDefinition extends EngineDefinition {
  readonly packages?: readonly string[];
}

function versionOf(name: string): string {
  const file = fileURLToPath(new URL(`../peers/node_modules/${name}/package.json`, import.meta.url));
  return String((JSON.parse(readFileSync(file, "utf8")) as { version: string }).version);
}
