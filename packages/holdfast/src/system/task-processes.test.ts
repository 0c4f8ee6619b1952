import { expect, test } from "vitest";
import { forChildren } from "./task-processes.ts";

test("loaders and conditions are for children too; debuggers and programs on the command line are not", () => {
  const loaders = ["--conditions=source", "--import", "tsx", "--require", "./setup.cjs", "--enable-source-maps"];
  const own = ["--inspect", "--inspect-brk=0.0.0.0:9229", "--watch", "--test", "-e", "main()", "--input-type=module"];
  expect(forChildren([...own, ...loaders])).toEqual(loaders);
  expect(forChildren([...loaders, "--eval", "main()"])).toEqual(loaders);
});
