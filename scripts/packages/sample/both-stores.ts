// The same with every adapter in the bundle, and only one of them used.
import { postgres } from "@holdfast/postgres";
import { sqlite } from "@holdfast/sqlite";
import { connect, silentLogger, workflow } from "holdfast";

const hello = workflow("hello", async (ctx) => ctx.step("greet", () => "hello from a bundle"));

async function main(): Promise<void> {
  const hf = await connect("sqlite:both.db", { adapters: [postgres(), sqlite()], logger: silentLogger });
  await hf.worker({ workflows: [hello] }).start();
  console.log(await hf.run(hello));
  await hf.close();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
