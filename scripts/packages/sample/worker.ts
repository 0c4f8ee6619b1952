// A worker for a bundle: its adapter is passed in, because a bundle has no packages to find by name.
import { sqlite, transaction } from "@holdfast/sqlite";
import { connect, silentLogger, workflow } from "holdfast";
import { compressed, encrypted, messagePack } from "holdfast/codecs";

const count = workflow("count", async (ctx, words: readonly string[]) => {
  await ctx.step("announce", () => "counting");
  return await transaction(ctx, "store", (tx) => {
    tx.run("create table if not exists counted (word text)");
    for (const word of words) tx.run("insert into counted values (?)", word);
    return tx.get<{ n: number }>("select count(*) as n from counted")?.n ?? 0;
  });
});

async function main(): Promise<void> {
  const codec = encrypted({ current: "k1", keys: { k1: new Uint8Array(32) }, inner: compressed(messagePack()) });
  const hf = await connect("file:worker.db", { adapters: [sqlite()], codec, logger: silentLogger });
  await hf.worker({ workflows: [count] }).start();
  console.log(`counted ${await hf.run(count, ["hold", "fast"], { id: "only" })}`);
  await hf.close();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
