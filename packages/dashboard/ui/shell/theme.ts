// Light, dark, or what the system says; rows that are dense, or comfortable.
import { readSetting, writeSetting } from "../components/time-settings.tsx";

const STORED = "holdfast.theme";
const STORED_ROWS = "holdfast.rows";
const COMFORTABLE = "comfortable";

export function applyTheme(): void {
  const stored = readSetting(STORED);
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
  if (readSetting(STORED_ROWS) === COMFORTABLE) document.documentElement.dataset.rows = COMFORTABLE;
}

export function areRowsComfortable(): boolean {
  return document.documentElement.dataset.rows === COMFORTABLE;
}

export function setRowsComfortable(comfortable: boolean): void {
  const { dataset } = document.documentElement;
  if (comfortable) dataset.rows = COMFORTABLE;
  else delete dataset.rows;
  writeSetting(STORED_ROWS, comfortable ? COMFORTABLE : "dense");
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
