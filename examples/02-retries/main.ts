// A step that throws is tried again, with growing delays. How often was tried is part of the history, so it survives a
// crash as well. An error that cannot get better is not tried again and fails the run.
import { connect, NonRetryableError, RunFailedError, workflow } from "holdfast";

const fetchPrice = workflow("fetch-price", async (ctx, product: string) => {
  return await ctx.step(
    "ask-the-shop",
    ({ attempt }) => {
      console.log(`attempt ${attempt} for ${product}`);
      if (product === "unicorn") throw new NonRetryableError("there are no unicorns");
      if (attempt < 3) throw new Error("the shop does not answer");
      return 1299;
    },
    // attempts counts executions. The delays are 50 ms and 100 ms; without jitter, so that they are exactly that.
    { retry: { attempts: 5, initial: "50ms", factor: 2, jitter: 0 } },
  );
});

const hf = await connect("memory:");
await hf.worker({ workflows: [fetchPrice] }).start();

console.log("price:", await hf.run(fetchPrice, "teapot"));

const run = await hf.start(fetchPrice, "unicorn");
try {
  await run.result();
} catch (error) {
  if (!(error instanceof RunFailedError)) throw error;
  console.log(`${await run.status()}: ${(error.cause as Error).message}`);
}

await hf.close();
