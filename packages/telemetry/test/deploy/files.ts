/** What is in deploy/, as the tests look at it. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

export const ROOT = path.join(import.meta.dirname, "..", "..", "..", "..");
const GRAFANA = path.join(ROOT, "deploy", "grafana");
export const RULES = path.join(ROOT, "deploy", "prometheus", "holdfast-alerts.yaml");
export const RULE_TESTS = path.join(ROOT, "deploy", "prometheus", "holdfast-alerts.test.yaml");

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: readonly { readonly refId: string; readonly expr: string; readonly legendFormat: string }[];
}

export interface Dashboard {
  readonly file: string;
  readonly uid: string;
  readonly title: string;
  readonly schemaVersion: number;
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
  readonly panels: readonly Panel[];
}

export function readDashboards(): Dashboard[] {
  return readdirSync(GRAFANA).map((file) => ({
    file,
    ...(JSON.parse(readFileSync(path.join(GRAFANA, file), "utf8")) as Omit<Dashboard, "file">),
  }));
}

/** The queries of a dashboard, for all values of its variables. */
export function queriesOf({ panels }: Dashboard): string[] {
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr.replace(/\$\w+/g, ".*")));
}

export interface Alert {
  readonly name: string;
  readonly severity: string;
  readonly runbook: string;
}

export function readAlerts(): Alert[] {
  const text = readFileSync(RULES, "utf8");
  return text
    .split(/^ {6}- alert: /m)
    .slice(1)
    .map((rule) => ({
      name: rule.slice(0, rule.indexOf("\n")),
      severity: /severity: (\w+)/.exec(rule)?.[1] ?? "",
      runbook: /runbook_url: (\S+)/.exec(rule)?.[1] ?? "",
    }));
}

/** The metrics that a text names, with the labels that it selects them by. */
export function metricsIn(text: string): { readonly metric: string; readonly labels: readonly string[] }[] {
  return [...text.matchAll(/\b(holdfast_\w+)(?:\{([^}]*)\})?/g)].map(([, metric = "", selector = ""]) => ({
    metric,
    labels: [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = ""]) => label),
  }));
}
