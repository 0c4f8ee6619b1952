/** Who is at the other end of a connection, and what it may do. */
import { EVERY_NAMESPACE, STORE_CALL_TABLE, type StoreRole } from "@holdfast/protocol/store";
import { batchNamespace, HoldfastError, isBatchNamespace, type StoreMethod } from "holdfast/adapter";

export interface Caller {
  /** Whether it has this role in this namespace; `*`: in all of them. */
  allows(role: StoreRole, namespace: string): boolean;
  /** It may do what only servers do, such as sweeps. Nobody from outside may. */
  readonly duties?: boolean;
  /** Throws if the call, which it may make, is one too many, or not possible now. */
  admit?(call: AdmittedCall): Promise<void>;
  /** Who it is, for histories; undefined if nobody had to say. */
  readonly id?: string | undefined;
  /** Keeps what it has done as an operator, or was refused. */
  audit?(done: AuditedOperation): void;
}

/** What an operator does, and how that went: `ok`, or the code of an error. */
export interface AuditedOperation {
  readonly action: string;
  readonly namespace: string;
  readonly subject: string;
  readonly outcome: string;
}

/** A call whose caller has the role for it. */
export interface AdmittedCall {
  readonly method: StoreMethod;
  readonly params: unknown;
  readonly bytes: number;
}

/** For a server without access control. */
export const ANYBODY: Caller = { allows: () => true };

/** Throws `permission_denied` if the caller may not make this call, and `store_refused` if it has no sense. */
export function checkCall(caller: Caller, method: StoreMethod, params: unknown): void {
  const row = STORE_CALL_TABLE.get(method);
  if (!row || method === "transact") throw new HoldfastError("store_refused", `The server has no call ${method}.`);
  const { role } = row;
  if (role === "server") {
    if (!caller.duties)
      throw new HoldfastError("permission_denied", "This call is for servers alone.", { data: { role } });
    return;
  }
  for (const namespace of new Set(namespacesOf(method, params))) {
    if (namespace === EVERY_NAMESPACE ? !caller.duties : !hasRole(caller, role, namespace))
      throw denied(role, namespace);
  }
}

/** Whether the caller has this role in the namespace, which may be one of batches. */
export function hasRole(caller: Caller, role: StoreRole, namespace: string): boolean {
  return caller.allows(neededRole(role, namespace), ownerOf(namespace));
}

/** Whoever may write in a namespace may carry out its batches: the client does that with a worker of its own, where they run. */
function neededRole(role: StoreRole, namespace: string): StoreRole {
  return role === "worker" && isBatchNamespace(namespace) ? "writer" : role;
}

/** The batches of a namespace belong to whoever it belongs to. */
export function ownerOf(namespace: string): string {
  return isBatchNamespace(namespace) ? namespace.slice(batchNamespace("").length) : namespace;
}

function namespacesOf(method: StoreMethod, params: unknown): readonly string[] {
  let namespaces: readonly unknown[];
  try {
    namespaces = STORE_CALL_TABLE.get(method)?.namespaces(params as never) ?? [];
  } catch (cause) {
    throw malformed(method, cause);
  }
  if (!namespaces.every((namespace) => typeof namespace === "string")) throw malformed(method);
  return namespaces as readonly string[];
}

export function malformed(method: string, cause?: unknown): HoldfastError {
  return new HoldfastError("store_refused", `The parameters of ${method} are not what the server expects.`, {
    data: { call: method },
    cause,
  });
}

/** In the words of whoever has called: neither the call of the store nor the namespace of batches is known to them. */
function denied(role: StoreRole, namespace: string): HoldfastError {
  const [needed, owner] = [neededRole(role, namespace), ownerOf(namespace)];
  const where = owner === EVERY_NAMESPACE ? "all namespaces" : `namespace "${owner}"`;
  return new HoldfastError("permission_denied", `This call needs the role ${needed} in ${where}.`, {
    data: { role: needed, namespace: owner },
  });
}
