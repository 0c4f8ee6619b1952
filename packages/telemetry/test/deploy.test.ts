/** The alert rules and dashboards of deploy/ do what they say, with metrics that exist. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { connect, silentLogger } from "holdfast";
import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { findOrUnpackPrometheus } from "../../../scripts/test-servers.mjs";
import { prometheus } from "../src/index.ts";
import { metricsIn, queriesOf, ROOT, RULE_TESTS, RULES, readAlerts, readDashboards } from "./deploy/files.ts";

const { folder, missing } = findOrUnpackPrometheus();

/** The labels of every series name that is really exported. */
async function exported(): Promise<ReadonlyMap<string, readonly string[]>> {
  const register = new Registry();
  const telemetry = prometheus({ register });
  const hf = await connect("memory:", { telemetry, logger: silentLogger });
  telemetry.observe(hf);
  const text = await telemetry.metrics();
  await hf.close();
  const names = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name = "", type]) => {
    const { labelNames } = register.getSingleMetric(name) as unknown as { readonly labelNames: readonly string[] };
    if (type !== "histogram") return [[name, labelNames] as const];
    const of = ["_bucket", "_sum", "_count"].map((end) => [`${name}${end}`, [...labelNames, "le"]] as const);
    return of;
  });
  return new Map(names);
}

function promtool(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(path.join(folder ?? "", "promtool"), args, { encoding: "utf8" });
  return status === 0 ? "ok" : `${stdout}\n${stderr}`;
}

describe("alert rules", () => {
  test("are accepted by promtool", ({ skip }) => {
    skip(missing !== undefined, missing);
    expect(promtool("check", "rules", RULES)).toBe("ok");
  });

  test("fire when they should, with texts that can be read, and stay quiet otherwise", ({ skip }) => {
    skip(missing !== undefined, missing);
    expect(promtool("test", "rules", RULE_TESTS)).toBe("ok");
  });

  test("are all tested both ways", () => {
    const tests = readFileSync(RULE_TESTS, "utf8");
    const tested = (verb: string) =>
      [...tests.matchAll(new RegExp(`name: (\\w+) ${verb}`, "g"))].map(([, name]) => name);
    const names = readAlerts().map(({ name }) => name);
    expect(names.length).toBeGreaterThan(15);
    expect(new Set(tested("fires"))).toEqual(new Set(names));
    expect(new Set(tested("stays quiet"))).toEqual(new Set(names));
  });

  test("have a severity that people route by", () => {
    for (const { name, severity } of readAlerts())
      expect([name, severity]).toEqual([name, expect.stringMatching(/^(warning|critical)$/)]);
  });
});

test("every metric and every label in rules and dashboards is one that is exported", async () => {
  const known = await exported();
  const texts = [
    readFileSync(RULES, "utf8").replace(/^\s*(- name|#).*$/gm, ""),
    ...readDashboards().flatMap(queriesOf),
  ];
  const named = texts.flatMap(metricsIn);
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter(({ metric }) => !known.has(metric)).map(({ metric }) => metric)).toEqual([]);
  const labels = named.flatMap(({ metric, labels: used }) =>
    used.filter((label) => known.get(metric)?.includes(label) === false).map((label) => `${metric}{${label}}`),
  );
  expect(labels).toEqual([]);
});

describe.each(readDashboards())("dashboard $file", ({ uid, title, schemaVersion, templating, panels }) => {
  test("is one that Grafana imports: its own id, one data source, panels that do not overlap", () => {
    expect([uid, title]).toEqual([expect.stringMatching(/^holdfast-/), expect.stringMatching(/^Holdfast: /)]);
    expect(schemaVersion).toBeGreaterThanOrEqual(36);
    expect(templating.list.map(({ name }) => name)).toContain("datasource");
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)} ${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
  });

  test("says of every panel what it shows, and in which unit", () => {
    for (const { type, title: name, description = "", fieldConfig, targets = [] } of panels) {
      expect(name).not.toBe("");
      if (type === "row") continue;
      expect([name, description]).toEqual([name, expect.stringMatching(/^[A-Z1].{20,}\.$/s)]);
      expect([name, fieldConfig?.defaults.unit]).toEqual([name, expect.stringMatching(/./)]);
      expect([name, targets.length]).not.toEqual([name, 0]);
      for (const { legendFormat } of targets) expect([name, legendFormat]).toEqual([name, expect.stringMatching(/./)]);
    }
  });

  test("uses only its own variables, and names only alerts that exist", () => {
    const own = templating.list.map(({ name }) => name);
    const used = panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => expr.match(/\$\w+/g) ?? []));
    expect(used.filter((name) => !own.includes(name.slice(1)))).toEqual([]);
    const alerts = new Set(readAlerts().map(({ name }) => name));
    const named = panels.flatMap(({ description = "" }) => description.match(/Holdfast[A-Z]\w+/g) ?? []);
    expect(named.filter((name) => !alerts.has(name))).toEqual([]);
  });
});

describe("the runbook", () => {
  const text = readFileSync(path.join(ROOT, "docs", "guide", "runbook.md"), "utf8");
  const sections = text.split(/^## /m).slice(1);
  const ofAlerts = sections.filter((section) => /^Holdfast[A-Z]\w+\n/.test(section));

  test("has a section for each alert and no other, and every alert links to its own", () => {
    const alerts = readAlerts();
    expect(ofAlerts.map((section) => section.slice(0, section.indexOf("\n")))).toEqual(alerts.map(({ name }) => name));
    const { homepage } = JSON.parse(readFileSync(path.join(ROOT, "packages", "telemetry", "package.json"), "utf8"));
    const page = `${homepage.replace(/#.*/, "")}/blob/main/docs/guide/runbook.md`;
    expect(alerts.map(({ runbook }) => runbook)).toEqual(alerts.map(({ name }) => `${page}#${name.toLowerCase()}`));
  });

  test("says in each what it means, what to look at, what to do and when to call for help", () => {
    for (const section of ofAlerts) {
      const parts = [...section.matchAll(/^\*\*(.+?)\.\*\* \S/gm)].map(([, part]) => part);
      expect([section.slice(0, 30), parts]).toEqual([section.slice(0, 30), ["Means", "Look", "Do", "Escalate"]]);
    }
  });

  test("names the eight practices that keep alerts quiet, in order", () => {
    const [practices = ""] = sections.filter((section) => section.startsWith("Eight practices"));
    expect([...practices.matchAll(/^(\d)\. \*\*(.+?)\.\*\*/gm)].map(([, number, name]) => `${number} ${name}`)).toEqual(
      [
        "1 Small steps",
        "2 Idempotent steps",
        "3 Independent work side by side",
        "4 Retries by error",
        "5 Limits on concurrency",
        "6 Heartbeats that fit",
        "7 Graceful shutdown",
        "8 Health that wakes somebody",
      ],
    );
  });
});
