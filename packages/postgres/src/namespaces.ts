import type { NamespacePair } from "holdfast/adapter";
import type { Server } from "./database/server.ts";
import { callOf, queryOf } from "./database/server-call.ts";

const PAIR = {
  p_namespace: ({ namespace }: NamespacePair) => namespace,
  p_other: ({ other }: NamespacePair) => other,
};
const ALLOW = callOf<NamespacePair>("allow_namespace", PAIR);
const DISALLOW = callOf<NamespacePair>("disallow_namespace", PAIR);
const READ = queryOf<{ readonly namespace: string }>(
  "read_namespace",
  (at) => `select n.allows from ${at}.namespaces n where n.name = $p_namespace order by n.allows`,
  { p_namespace: ({ namespace }) => namespace },
);

export async function allowNamespace(server: Server, pair: NamespacePair): Promise<void> {
  await server.write(ALLOW, pair);
}

export async function disallowNamespace(server: Server, pair: NamespacePair): Promise<void> {
  await server.write(DISALLOW, pair);
}

export async function readNamespace(server: Server, params: { readonly namespace: string }) {
  return { allows: (await server.read(READ, params)).map((row) => row.allows as string) };
}
