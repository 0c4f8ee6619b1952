// Links between the pages. A part of a path is what it is called: the router encodes it.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { encodedPart } from "../src/api/path-part.ts";
import { useNamespace } from "./api/reads.ts";
import { buttonClass } from "./components/button.tsx";
import { safeLine } from "./text/safe-text.ts";

export const PAGES = [
  "runs",
  "grid",
  "compare",
  "schedules",
  "queues",
  "workers",
  "tasks",
  "workflows",
  "parked",
  "audit",
  "settings",
] as const;
export type PageName = (typeof PAGES)[number];

export interface PageLinkProps {
  /** Left out: the overview. */
  readonly page?: PageName;
  /** The run, schedule or workflow of that page. */
  readonly item?: string;
  readonly search?: Readonly<Record<string, string | undefined>>;
  readonly button?: boolean;
  readonly className?: string | undefined;
  readonly title?: string;
  readonly children: ReactNode;
}

/** The address of a page of the dashboard, for <Link to> and for navigate. */
export function pagePath(namespace: string, page?: PageName, item?: string): string {
  const parts = [namespace, page, item].filter((part) => part !== undefined);
  return `/${parts.map(encodedPart).join("/")}`;
}

export function PageLink({ page, item, search, button, className, title, children }: PageLinkProps) {
  const namespace = useNamespace();
  return (
    <Link
      to={pagePath(namespace, page, item)}
      search={(search ?? {}) as never}
      className={button ? buttonClass() : className}
      title={title}
    >
      {children}
    </Link>
  );
}

export interface RunLinkProps {
  readonly id: string;
  /** Leads to exactly this run; without it, to the newest one of that id. */
  readonly runId?: string | undefined;
  readonly search?: Readonly<Record<string, string | undefined>>;
  readonly className?: string | undefined;
}

/** The id of a run, leading to its page. */
export function RunLink({ id, runId, search, className }: RunLinkProps) {
  return (
    <PageLink
      page="runs"
      item={runId ?? id}
      className={className ?? "mono"}
      title={safeLine(id)}
      {...(search ? { search } : {})}
    >
      {safeLine(id)}
    </PageLink>
  );
}
