// The zone in which times are shown, and the server's clock: a browser whose clock is wrong must not show wrong ages.
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState, useSyncExternalStore } from "react";
import { serverNow } from "../api/server-clock.ts";
import { isZone, type Zone } from "../text/time-text.ts";

const STORED = "holdfast.zone";

interface ZoneChoice {
  readonly zone: Zone;
  readonly setZone: (zone: Zone) => void;
}

const ZoneContext = createContext<ZoneChoice>({ zone: "UTC", setZone: () => {} });

export function ZoneProvider({ children }: { readonly children: ReactNode }) {
  const [zone, setState] = useState(() => {
    const stored = readSetting(STORED);
    return stored !== undefined && isZone(stored) ? stored : "UTC";
  });
  const setZone = useCallback((next: Zone) => {
    if (!isZone(next)) return;
    writeSetting(STORED, next);
    setState(next);
  }, []);
  const choice = useMemo(() => ({ zone, setZone }), [zone, setZone]);
  return <ZoneContext value={choice}>{children}</ZoneContext>;
}

export function useZone(): ZoneChoice {
  return useContext(ZoneContext);
}

const listeners = new Set<() => void>();
let tick = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** The server's time, anew each second while the tab is visible. One timer for all. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => tick || serverNowOnce());
}

function serverNowOnce(): number {
  tick = serverNow();
  return tick;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    if (document.visibilityState === "hidden") return;
    tick = serverNow();
    for (const each of listeners) each();
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0 || timer === undefined) return;
    clearInterval(timer);
    timer = undefined;
    tick = 0;
  };
}

/** A setting of this browser. Undefined where storage is forbidden. */
export function readSetting(name: string): string | undefined {
  try {
    return localStorage.getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

export function writeSetting(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Storage is full or forbidden; the setting lasts as long as the page.
  }
}
