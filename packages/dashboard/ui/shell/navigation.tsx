import { Link } from "@tanstack/react-router";
import type { Role, RunCount } from "../../src/api/api-messages.ts";
import { useNamespace, useRead } from "../api/reads.ts";
import { useHasRole } from "../api/session.tsx";
import { Icon } from "../components/icon.tsx";
import type { IconName } from "../components/sprite.tsx";
import { type PageName, pagePath } from "../links.tsx";
import { cappedText } from "../text/count-text.ts";
import styles from "./shell.module.css";
import { NarrowMenus } from "./top-bar.tsx";

interface Entry {
  readonly page?: PageName;
  readonly icon: IconName;
  readonly label: string;
  /** For people with that role alone. */
  readonly role?: Role;
}

const MAIN: readonly Entry[] = [
  { icon: "overview", label: "Overview" },
  { page: "runs", icon: "runs", label: "Runs" },
  { page: "grid", icon: "grid", label: "Grid" },
  { page: "schedules", icon: "clock", label: "Schedules" },
  { page: "queues", icon: "queue", label: "Queues & limits" },
  { page: "workers", icon: "worker", label: "Workers" },
  { page: "tasks", icon: "task", label: "Tasks" },
  { page: "workflows", icon: "flow", label: "Workflows" },
  { page: "parked", icon: "park", label: "Parked" },
];
const REST: readonly Entry[] = [
  { page: "audit", icon: "audit", label: "Audit", role: "admin" },
  { page: "settings", icon: "gear", label: "Settings" },
];

/** On a narrow screen it is hidden until the button Menu opens it. */
export function Navigation({ open }: { readonly open: boolean }) {
  return (
    <nav id="navigation" className={`${styles.side} ${open ? styles.open : ""}`} aria-label="Main">
      <ul>
        {MAIN.map((entry) => (
          <NavigationEntry key={entry.label} entry={entry} />
        ))}
      </ul>
      <hr />
      <ul>
        {REST.map((entry) => (
          <NavigationEntry key={entry.label} entry={entry} />
        ))}
      </ul>
      <NarrowMenus />
    </nav>
  );
}

function NavigationEntry({ entry: { page, icon, label, role = "reader" } }: { readonly entry: Entry }) {
  const namespace = useNamespace();
  const to = pagePath(namespace, page);
  if (!useHasRole(role)) return null;
  return (
    <li>
      <Link to={to} activeOptions={{ exact: page === undefined, includeSearch: false }}>
        <Icon name={icon} />
        {label}
        {page === "parked" ? <ParkedCount /> : null}
      </Link>
    </li>
  );
}

function ParkedCount() {
  const { data } = useRead<RunCount>("runs/count", { status: "parked" }, { everyMs: 30_000 });
  if (data === undefined || data.count === 0) return null;
  return <b>{cappedText(data.count, data.capped)}</b>;
}
