import { expect, test } from "vitest";
import { Screen } from "./screen.ts";
import { widthOf } from "./width.ts";

test("a picture takes the place of the one before, also if its lines are too long or too many", () => {
  let written = "";
  const write = (text: string): void => {
    written = text;
  };
  const screen = new Screen({ stdout: { write, isTTY: true, columns: 20, rows: 5 } });
  screen.draw(["one", "a line that is longer than the terminal is wide"]);
  expect(written).toContain("\u001b[?25l");
  for (const line of written.split("\n"))
    expect(widthOf(line.replace(/\u001b\[\??\d*[A-Za-z]/g, ""))).toBeLessThanOrEqual(20);
  screen.draw(["1", "2", "3", "4", "5", "6"]);
  expect(written.startsWith("\u001b[2A\r")).toBe(true);
  expect(written.split("\n")).toHaveLength(5);
  screen.draw(["end"]);
  expect(written.startsWith("\u001b[4A\r")).toBe(true);
  screen.end();
  expect(written).toBe("\u001b[?25h");
});
