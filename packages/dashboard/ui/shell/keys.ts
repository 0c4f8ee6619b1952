// Keys that act without a modifier. They rest while somebody types, and while a dialog is open.
import { useEffect, useEffectEvent } from "react";

interface KeyAction {
  readonly key: string;
  readonly what: string;
  readonly act: (event: KeyboardEvent) => void;
}

const actions = new Set<KeyAction>();
let listening = false;

/** While the component is shown, the key does this. `what` is for the list of keys. */
export function useKey(key: string, what: string, act: (event: KeyboardEvent) => void): void {
  const latest = useEffectEvent(act);
  useEffect(() => {
    const action: KeyAction = { key, what, act: (event) => latest(event) };
    actions.add(action);
    listen();
    return () => {
      actions.delete(action);
    };
  }, [key, what]);
}

function listen(): void {
  if (listening) return;
  listening = true;
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isBusy(event.target)) return;
    const action = [...actions].findLast(({ key }) => key === event.key);
    if (action === undefined) return;
    // Enter on a link or a button is that link's or button's.
    if (event.key === "Enter" && event.target instanceof Element && event.target.closest("a,button,summary") !== null)
      return;
    event.preventDefault();
    action.act(event);
  });
}

/** Hands over what is typed while a dialog is on its way, until something in the dialog has the focus. Returns how to end that. */
export function keepTyped(add: (key: string) => void): () => void {
  const keep = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.parentElement?.closest("[data-modal]")) return end();
    if (event.key.length > 1 && event.key !== "Enter") return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key !== "Enter") add(event.key);
  };
  const end = (): void => document.removeEventListener("keydown", keep, true);
  document.addEventListener("keydown", keep, true);
  return end;
}

function isBusy(target: EventTarget | null): boolean {
  if (document.querySelector("[data-modal],[role=menu]") !== null) return true;
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button"].includes(target.type);
  return target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

/** What the keys do now, for the list of keys. */
export function keyActions(): readonly { readonly key: string; readonly what: string }[] {
  return [...actions];
}
