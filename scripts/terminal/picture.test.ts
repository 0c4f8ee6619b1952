import { expect, test } from "vitest";
import { pictureOf, TerminalScreen } from "./picture.ts";

const textOf = (screen: TerminalScreen): string[] =>
  screen.lines.map(({ cells }) => cells.map(({ letter }) => letter).join(""));

test("what is drawn again replaces what was there", () => {
  const screen = new TerminalScreen();
  screen.write("$ watch\none\ntwo longer\nthree\n", 0);
  screen.write("\u001b[3A\rONE\u001b[K\nTWO\u001b[K\n\u001b[J", 1);
  expect(textOf(screen)).toEqual(["$ watch", "ONE", "TWO", ""]);
});

test("a picture has the colors and none of the control characters", () => {
  const screen = new TerminalScreen();
  screen.write("\u001b[32m✓\u001b[39m \u001b[1mdone\u001b[22m <ok>", 0.5);
  const svg = pictureOf(screen.lines, "a session");
  expect(svg).toContain('<tspan fill="#9ece6a">✓</tspan> <tspan font-weight="bold">done</tspan> &lt;ok&gt;');
  expect(svg).not.toContain("\u001b");
  expect(svg).toContain("animation-delay:0.5s");
});
