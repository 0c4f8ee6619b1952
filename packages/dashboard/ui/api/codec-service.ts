// The service that decodes encrypted values for the browser, so that neither the server nor the store ever sees them in the clear.

/** The JSON text of an encrypted value. Throws with what to tell the person. */
export async function decodeValue(codecUrl: string, base64: string): Promise<string> {
  const answer = await ask(codecUrl, base64);
  if (!answer.ok) throw new Error(`The codec service answered ${answer.status}.`);
  const [text] = textsOf(await answer.json().catch(() => undefined));
  if (text === undefined) throw new Error("The codec service answered something else than { payloads: [text] }.");
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    throw new Error("The codec service answered a text that is not JSON.");
  }
}

async function ask(codecUrl: string, base64: string): Promise<Response> {
  try {
    // With the cookies of that service: whether this person may decode is for it to say.
    return await fetch(codecUrl, {
      method: "POST",
      credentials: "include",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ payloads: [base64] }),
    });
  } catch {
    throw new Error(
      `The codec service at ${new URL(codecUrl).origin} cannot be reached, or does not allow this page (CORS).`,
    );
  }
}

function textsOf(answer: unknown): readonly (string | undefined)[] {
  const payloads = (answer as { readonly payloads?: unknown } | undefined)?.payloads;
  return Array.isArray(payloads) ? payloads.map((one) => (typeof one === "string" ? one : undefined)) : [];
}
