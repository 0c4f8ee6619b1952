/**
 * Saved views, shared by everybody through the store: each is a run that never begins, beside the batches of the namespace, where no
 * list, count or claim meets it. So every store keeps them, and a server passes them on.
 */
import type { Client } from "holdfast";
import { batchNamespace } from "holdfast/adapter";
import { refusal } from "../answers/refusal.ts";
import type { SavedView, SavedViews } from "../api/list-messages.ts";
import type { Ask, Scope } from "./scope.ts";

const WORKFLOW = "dashboard-view";
const VIEWS_MAX = 200;
const NAME_MAX = 100;
const SEARCH_MAX = 4_000;
const NEVER = new Date(Date.UTC(2200, 0, 1));

function clientOf({ store, namespace }: Scope): Client {
  return store.client(batchNamespace(namespace));
}

export async function savedViews({ scope }: Ask): Promise<SavedViews> {
  const client = clientOf(scope);
  try {
    const { runs } = await client.list({ workflow: WORKFLOW, status: "pending", limit: VIEWS_MAX });
    const views = await Promise.all(runs.map(({ runId }) => client.get({ runId }).describe()));
    return {
      views: views
        .map(({ id, input, createdAt }): SavedView => {
          const { search = "", by = null } = (input ?? {}) as Partial<SavedView>;
          return { name: id, search, by, at: createdAt.getTime() };
        })
        .sort((a, b) => a.name.localeCompare(b.name)),
    };
  } finally {
    await client.close();
  }
}

export async function saveView({ scope, body }: Ask): Promise<object> {
  const { name, search } = (body ?? {}) as Partial<SavedView>;
  if (typeof name !== "string" || name.trim() === "" || name.length > NAME_MAX)
    throw refusal(400, "bad_request", `The name of a view has from 1 to ${NAME_MAX} characters.`);
  if (typeof search !== "string" || search.length > SEARCH_MAX)
    throw refusal(400, "bad_request", `The search of a view has at most ${SEARCH_MAX} characters.`);
  const client = clientOf(scope);
  try {
    const input = { search, by: scope.visitor.user };
    await client.start(WORKFLOW, input, { id: name, startAt: NEVER, ifRunning: "replace", ifClosed: "start" });
    return {};
  } finally {
    await client.close();
  }
}

export async function removeView({ scope, body }: Ask): Promise<object> {
  const { name } = (body ?? {}) as Partial<SavedView>;
  if (typeof name !== "string") throw refusal(400, "bad_request", "Say the name of the view.");
  const client = clientOf(scope);
  try {
    await client.get(name).terminate({ by: scope.visitor.user, reason: "removed" });
    return {};
  } finally {
    await client.close();
  }
}
