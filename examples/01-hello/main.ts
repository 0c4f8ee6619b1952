// A workflow is an async function whose steps are recorded. If a process dies, another one calls the function again and
// passes it the recorded results: completed steps are not executed a second time.
import { connect, workflow } from "holdfast";

const hello = workflow("hello", async (ctx, input: { name: string }) => {
  const greeting = await ctx.step("greet", () => {
    console.log("executing greet");
    return `Hello, ${input.name}`;
  });
  return await ctx.step("exclaim", () => {
    console.log("executing exclaim");
    return `${greeting}!`;
  });
});

const hf = await connect("memory:");
await hf.worker({ workflows: [hello] }).start();

const run = await hf.start(hello, { name: "Ada" }, { id: "hello-ada" });
console.log("result:", await run.result());

// The same id is the same run: it has ended, so its result is returned and nothing is executed.
const again = await hf.start(hello, { name: "Ada" }, { id: "hello-ada" });
console.log("again: ", await again.result());

for (const event of await run.history()) console.log(event.seq, event.type, event.op ?? "-");

await hf.close();
