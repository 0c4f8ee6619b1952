// Light, dark, or what the system says.
import { readSetting, writeSetting } from "../components/time-settings.tsx";

const STORED = "holdfast.theme";

export function applyTheme(): void {
  const stored = readSetting(STORED);
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
}

/** The other one of light and dark. */
export function toggleTheme(): void {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const next = (root.dataset.theme ?? system) === "dark" ? "light" : "dark";
  root.dataset.theme = next;
  writeSetting(STORED, next);
  dispatchEvent(new Event(THEME_EVENT));
}

/** Charts and canvases read their colors anew. */
export const THEME_EVENT = "holdfast-theme";
