// The frame around every page: the bar at the top, the navigation, and the keys that work everywhere.
import { useQueryClient } from "@tanstack/react-query";
import { Outlet, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { SESSION_TOPIC, useLive, useLiveNamespace } from "../api/live.ts";
import { useNamespace } from "../api/reads.ts";
import { SESSION_KEY } from "../api/session.tsx";
import { writeSetting } from "../components/time-settings.tsx";
import { keepTyped, useKey } from "./keys.ts";
import { Navigation } from "./navigation.tsx";
import styles from "./shell.module.css";
import { TopBar } from "./top-bar.tsx";

export const NAMESPACE_SETTING = "holdfast.namespace";

// What a key or a button opens is loaded then.
const GoTo = lazy(async () => ({ default: (await import("./go-to.tsx")).GoTo }));
const KeyHelp = lazy(async () => ({ default: (await import("./key-help.tsx")).KeyHelp }));

/** A session that was revoked is asked for again, which leads outside. */
function useSessionWatch(): void {
  const client = useQueryClient();
  useLive([SESSION_TOPIC], ({ topic }) => {
    if (topic === SESSION_TOPIC) void client.invalidateQueries({ queryKey: SESSION_KEY });
  });
}

export function Shell() {
  const namespace = useNamespace();
  const [menu, setMenu] = useState(false);
  const [goTo, setGoTo] = useState(false);
  const [word, setWord] = useState("");
  const [help, setHelp] = useState(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  useLiveNamespace(namespace);
  useSessionWatch();
  useEffect(() => writeSetting(NAMESPACE_SETTING, namespace), [namespace]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page closes the menu
  useEffect(() => setMenu(false), [path]);
  const openGoTo = () => {
    setWord("");
    setGoTo(true);
  };
  useEffect(() => (goTo ? keepTyped((key) => setWord((typed) => typed + key)) : undefined), [goTo]);
  useKey("/", "Go to a run, workflow or schedule", openGoTo);
  useKey("?", "Show all keys", () => setHelp(true));
  return (
    <>
      <button type="button" className={styles.skip} onClick={() => document.getElementById("main")?.focus()}>
        Skip to content
      </button>
      <TopBar menu={menu} onMenu={() => setMenu(!menu)} onGoTo={openGoTo} />
      <div className={styles.shell}>
        <Navigation open={menu} />
        <main id="main" className={styles.main} tabIndex={-1}>
          <Outlet />
        </main>
      </div>
      <Suspense>
        {goTo ? <GoTo text={word} onText={setWord} onClose={() => setGoTo(false)} /> : null}
        {help ? <KeyHelp open onClose={() => setHelp(false)} /> : null}
      </Suspense>
    </>
  );
}
