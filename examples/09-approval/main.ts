// A person approves an order in a browser, days later if need be. The run waits in the store; the web server has only a
// client, and answers for the person with the token of the task. It ends by itself: "Ann" below is a fetch.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { connect, isHoldfastError, NonRetryableError, task, workflow } from "holdfast";

interface Question {
  readonly order: string;
  readonly cents: number;
}
const approval = task<Question, { by: string }>({ name: "approval", external: true, totalTimeout: "3 days" });

const order = workflow("order", async (ctx, input: Question) => {
  const approved = await ctx.task(approval, input).catch((error: Error) => error.message);
  return typeof approved === "string" ? `${input.order}: ${approved}` : `${input.order}: approved by ${approved.by}`;
});

const hf = await connect("memory:"); // in production a database, and the worker below in another process
await hf.worker({ workflows: [order] }).start();

/** Who asks? Instead of real sessions: one person, one password. A token is a secret, but it says nothing about who has it. */
function userOf(request: IncomingMessage): string | undefined {
  return request.headers.authorization === "Bearer anns-session" ? "Ann" : undefined;
}

const server = createServer(async (request, response) => {
  const by = userOf(request);
  if (by === undefined) return reply(response, 401, { error: "log in first" });
  if (request.method === "GET") {
    const { tasks } = await hf.tasks.list({ name: "approval", status: "external" });
    return reply(
      response,
      200,
      tasks.map(({ input, token }) => ({ ...(input as Question), token })),
    );
  }
  // In the body: addresses end up in logs and histories.
  const { token, refuse } = (await bodyOf(request)) as { token: string; refuse?: string };
  try {
    // Not retried: a person who has refused is not asked again.
    if (refuse !== undefined) await hf.tasks.fail(token, new NonRetryableError(refuse));
    else await hf.tasks.complete(token, { by });
    reply(response, 200, { thanks: by });
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    const status = error.code === "task_closed" ? 409 : error.code === "task_not_found" ? 404 : 400;
    reply(response, status, { error: error.code });
  }
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/approvals`;

const lamp = await hf.start(order, { order: "a lamp", cents: 4_990 });
const piano = await hf.start(order, { order: "a grand piano", cents: 4_500_000 });

console.log("a stranger:", await call("no session"));
let questions: (Question & { token: string })[] = [];
while (questions.length < 2) questions = (await call("anns-session")).body as typeof questions;
questions.sort((a, b) => a.cents - b.cents);
console.log("Ann is asked:", questions.map((question) => `${question.order}, ${question.cents} cents`).join("; "));
const [first, second] = questions;
console.log("Ann approves:", await call("anns-session", { token: first?.token }));
console.log("and again:", await call("anns-session", { token: first?.token }));
console.log("and refuses:", await call("anns-session", { token: second?.token, refuse: "too expensive" }));
const guessed = `${second?.token.slice(0, -32)}${"0".repeat(32)}`;
console.log("a guessed token:", await call("anns-session", { token: guessed }));
console.log(await lamp.result());
console.log(await piano.result());

server.close();
server.closeAllConnections();
await hf.close();

async function call(session: string, body?: object): Promise<{ status: number; body: unknown }> {
  const headers = { authorization: `Bearer ${session}` };
  const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(address, { headers, ...sent });
  return { status: response.status, body: await response.json() };
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const part of request.setEncoding("utf8")) text += part;
  return JSON.parse(text);
}
