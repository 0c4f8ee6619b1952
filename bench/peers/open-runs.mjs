import pg from "pg";

/**
 * A separate connection that counts the open runs in a peer's tables; the comment keeps the query out of the counts.
 */
export async function openRuns(url, text) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    count: async () => Number((await client.query({ name: "open", text })).rows[0].n),
    number: async (query) => Number(Object.values((await client.query(query)).rows[0])[0]),
    end: () => client.end(),
  };
}
