// Steps requested together run side by side. Plain Promise.all works; ctx.parallel and ctx.race also cancel what the
// code no longer waits for.
import { connect, workflow } from "holdfast";

const trip = workflow("trip", async (ctx, city: string) => {
  // Results come back in the shape of the branches.
  const { hotel, train } = await ctx.parallel({
    hotel: () => ctx.step("hotel", () => `a bed in ${city}`),
    train: () => ctx.step("train", () => `a seat to ${city}`),
  });

  // collect-all waits for every branch and returns every outcome, as Promise.allSettled does.
  const extras = await ctx.parallel(
    [() => ctx.step("museum", () => "two tickets"), () => ctx.step("opera", soldOut, { retry: "none" })],
    { onError: "collect-all" },
  );

  // The first branch to succeed wins; the loser's step is aborted, its sleep canceled.
  const taxi = await ctx.race({
    answer: () => ctx.step("call-a-taxi", () => "taxi 7 is coming"),
    patience: () => ctx.sleep("patience", "1 hour"),
  });

  return { hotel, train, extras: extras.map((outcome) => outcome.status), taxi };
});

function soldOut(): string {
  throw new Error("sold out");
}

const hf = await connect("memory:");
await hf.worker({ workflows: [trip] }).start();
console.log(JSON.stringify(await hf.run(trip, "Lisbon"), null, 2));
await hf.close();
