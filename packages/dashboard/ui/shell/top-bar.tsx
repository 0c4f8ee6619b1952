import { Link, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { writeApi } from "../api/api-client.ts";
import { useLiveState } from "../api/live.ts";
import { useNamespace } from "../api/reads.ts";
import { useSession } from "../api/session.tsx";
import { Button, IconButton } from "../components/button.tsx";
import { Icon } from "../components/icon.tsx";
import { Menu } from "../components/menu.tsx";
import { useZone } from "../components/time-settings.tsx";
import { pagePath } from "../links.tsx";
import { safeLine } from "../text/safe-text.ts";
import styles from "./shell.module.css";
import { areRowsComfortable, setRowsComfortable, toggleTheme } from "./theme.ts";

const ZoneDialog = lazy(async () => ({ default: (await import("./zone-dialog.tsx")).ZoneDialog }));

export interface TopBarProps {
  readonly menu: boolean;
  readonly onMenu: () => void;
  readonly onGoTo: () => void;
}

export function TopBar({ menu, onMenu, onGoTo }: TopBarProps) {
  const namespace = useNamespace();
  return (
    <header className={styles.top}>
      <span className={styles.burger}>
        <IconButton label="Menu" icon="menu" onClick={onMenu} aria-expanded={menu} aria-controls="navigation" />
      </span>
      <Link className={styles.brand} to={pagePath(namespace)}>
        <svg aria-hidden="true">
          <use href="#i-logo" />
        </svg>
        Holdfast
      </Link>
      <span className={styles.wideOnly}>
        <NamespaceMenu />
      </span>
      <button type="button" className={styles.find} onClick={onGoTo}>
        <Icon name="search" />
        <span>Go to run, workflow, schedule…</span>
        <kbd>/</kbd>
      </button>
      <div className={styles.end}>
        <LiveLight />
        <span className={styles.wideOnly}>
          <ZoneMenu />
        </span>
        <Button kind="quiet" aria-label="Theme" title="Theme" onClick={toggleTheme}>
          <Icon name="theme" />
        </Button>
        <span className={styles.wideOnly}>
          <UserMenu />
        </span>
      </div>
    </header>
  );
}

/** On a narrow screen they stand below the navigation. */
export function NarrowMenus() {
  return (
    <div className={styles.narrowOnly}>
      <NamespaceMenu />
      <ZoneMenu />
      <UserMenu />
    </div>
  );
}

function NamespaceMenu() {
  const { namespaces } = useSession();
  const namespace = useNamespace();
  const navigate = useNavigate();
  const items = namespaces.map((name) => ({
    label: safeLine(name),
    checked: name === namespace,
    onSelect: () => void navigate({ to: pagePath(name) }),
  }));
  return <Menu kind="quiet" label={<NamedBy what="namespace">{safeLine(namespace)}</NamedBy>} items={items} />;
}

const LIGHTS = { live: "Live", connecting: "Connecting", lost: "Not live", hidden: "Paused", idle: "" } as const;

function LiveLight() {
  const state = useLiveState();
  if (state === "idle") return null;
  return (
    // Every page connects anew. That it is lost is said beside what is old.
    <span className={`${styles.live} ${styles[state]}`} role="status" aria-live="off" title={LIGHTS[state]}>
      <i />
      <span className={styles.liveWord}>{LIGHTS[state]}</span>
    </span>
  );
}

function ZoneMenu() {
  const { zone, setZone } = useZone();
  const [other, setOther] = useState(false);
  const known = ["UTC", "local"];
  const items = [
    { label: "UTC", checked: zone === "UTC", onSelect: () => setZone("UTC") },
    { label: "Local time", checked: zone === "local", onSelect: () => setZone("local") },
    {
      label: known.includes(zone) ? "Another zone…" : zone,
      checked: !known.includes(zone),
      onSelect: () => setOther(true),
    },
  ];
  return (
    <>
      <Menu
        kind="quiet"
        label={<NamedBy what="time zone">{zone === "local" ? "Local" : zone}</NamedBy>}
        items={items}
      />
      <Suspense>{other ? <ZoneDialog open onClose={() => setOther(false)} /> : null}</Suspense>
    </>
  );
}

function UserMenu() {
  const { user, role, readOnly, logout, version } = useSession();
  const [comfortable, setComfortable] = useState(areRowsComfortable);
  const what = readOnly ? "read-only" : role;
  const toggleRows = () => {
    setRowsComfortable(!comfortable);
    setComfortable(!comfortable);
  };
  const items = [
    { label: "Comfortable rows", checked: comfortable, onSelect: toggleRows },
    { label: `Holdfast ${version}`, disabled: true, onSelect: () => {} },
    ...(logout ? [{ label: "Sign out", onSelect: () => void writeApi("logout").then(() => location.reload()) }] : []),
  ];
  return <Menu kind="quiet" label={`${safeLine(user)} · ${what}`} items={items} />;
}

function NamedBy({ what, children }: { readonly what: string; readonly children: string }) {
  return (
    <>
      {children} <span className="vh">{what}</span>
    </>
  );
}
