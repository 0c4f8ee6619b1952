// An application that names its store by a URL alone: the adapter is found by its package's name.
import { connect, silentLogger, workflow } from "holdfast";

const hello = workflow("hello", async (ctx, name: string) => {
  const greeting = await ctx.step("greet", () => "Hello");
  await ctx.sleep("pause", "1ms");
  return `${greeting}, ${name}!`;
});

const hf = await connect("file:by-name.db", { logger: silentLogger });
await hf.worker({ workflows: [hello] }).start();
console.log(await hf.run(hello, "Ada"));
await hf.close();

// Of a store whose package is not installed it is told that, and what to do.
await connect("postgres://nobody@localhost:1/none", { logger: silentLogger }).catch((error: Error) =>
  console.log(error.message.split("\n")[0]),
);
