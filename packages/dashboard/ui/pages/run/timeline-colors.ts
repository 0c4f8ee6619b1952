// The colors of the canvas, from the tokens of the page; a canvas cannot use them by name.
import { useEffect, useState } from "react";
import { THEME_EVENT } from "../../shell/theme.ts";

const TOKENS = [
  "surface",
  "sunken",
  "line",
  "line-strong",
  "text",
  "text-2",
  "text-3",
  "accent",
  "accent-soft",
  "running",
  "running-soft",
  "waiting",
  "waiting-soft",
  "completed",
  "failed",
  "failed-soft",
  "continued",
] as const;
export type Palette = Readonly<Record<(typeof TOKENS)[number], string>> & { readonly font: string };

/** Anew when the theme changes. With forced colors everything is drawn in the text color, and shapes tell it apart. */
export function usePalette(): Palette {
  const [palette, setPalette] = useState(readPalette);
  useEffect(() => {
    const again = () => setPalette(readPalette());
    const queries = [matchMedia("(prefers-color-scheme: dark)"), matchMedia("(forced-colors: active)")];
    addEventListener(THEME_EVENT, again);
    for (const query of queries) query.addEventListener("change", again);
    return () => {
      removeEventListener(THEME_EVENT, again);
      for (const query of queries) query.removeEventListener("change", again);
    };
  }, []);
  return palette;
}

function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const forced = matchMedia("(forced-colors: active)").matches;
  const soft = (name: string) => name.endsWith("soft") || name === "surface" || name === "sunken";
  const colors = TOKENS.map((name) => {
    const system = soft(name) ? "Canvas" : "CanvasText";
    return [name, forced ? system : style.getPropertyValue(`--${name}`).trim()];
  });
  return { ...Object.fromEntries(colors), font: `11px ${style.getPropertyValue("--sans")}` } as Palette;
}
