// An application that names its store only by a URL: the adapter is found by its package name.
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

// If the package of a store is not installed, the error says so, and what to do.
await connect("postgres://nobody@localhost:1/none", { logger: silentLogger }).catch((error: Error) =>
  console.log(error.message.split("\n")[0]),
);
