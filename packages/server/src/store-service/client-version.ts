/** Which clients a server talks to: those of its own minor version, the one before, and the one after, which is newer than the server. */
import { HoldfastError } from "holdfast/adapter";
import { VERSION } from "./version.ts";

const FORM = /^(\d{1,6})\.(\d{1,6})\.\d{1,6}(?:[-+][\w.+-]{0,100})?$/;

/** Throws `store_unavailable` if the client is too old, or too new: another server may be of its version. */
export function requireKnownVersion(client: string, server: string = VERSION): void {
  const [theirs, own] = [partsOf(client), partsOf(server) as readonly [number, number]];
  const accepted = [own[1] - 1, own[1], own[1] + 1].filter((minor) => minor >= 0).map((minor) => `${own[0]}.${minor}`);
  if (theirs && accepted.includes(theirs.join("."))) return;
  const known = theirs ? `version ${client}` : "no version that can be read";
  const older = theirs !== undefined && (theirs[0] < own[0] || (theirs[0] === own[0] && theirs[1] < own[1]));
  const advice = !theirs || older ? "Update the client, which is @holdfast/remote" : "Update the server";
  throw new HoldfastError(
    "store_unavailable",
    `The server has version ${server}, and the client ${known}. It talks to clients of ${accepted.join(", ")}. ${advice}.`,
    { data: { version: server, accepted } },
  );
}

/** The oldest client that a server of this version talks to. */
export function oldestClient(server: string = VERSION): string {
  const [major, minor] = partsOf(server) as readonly [number, number];
  return `${major}.${Math.max(0, minor - 1)}.0`;
}

function partsOf(version: string): readonly [number, number] | undefined {
  const found = FORM.exec(version);
  return found ? [Number(found[1]), Number(found[2])] : undefined;
}
