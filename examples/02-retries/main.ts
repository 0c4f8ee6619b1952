// A step that throws is retried, with growing delays. The number of attempts is part of the history, so it survives a
// crash. An error that another attempt cannot fix is not retried and fails the run.
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
    // attempts counts executions. The delays are 50 ms and 100 ms; no jitter, so they are exact.
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
