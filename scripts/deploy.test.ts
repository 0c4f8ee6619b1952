// What is in deploy/ beside the rules of Prometheus: the image, the compose file, the chart, the units of systemd. No image is pulled and no
// cluster is there, so files are read as those programs read them, and every command line by the command itself.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { Ajv } from "ajv";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { Job } from "kubernetes-models/batch/v1/Job";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import { PersistentVolumeClaim } from "kubernetes-models/v1/PersistentVolumeClaim";
import { Secret } from "kubernetes-models/v1/Secret";
import { Service } from "kubernetes-models/v1/Service";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { findVerb, readValues, requireArguments } from "../packages/cli/src/command/parse.ts";
import { VERBS } from "../packages/cli/src/command/verbs.ts";
import { renderChart, type Value } from "./deploy/chart.ts";
import { readDockerfile } from "./deploy/dockerfile.ts";
import { root } from "./packages/published-packages.ts";

const deploy = path.join(root, "deploy");
const chart = path.join(deploy, "helm/holdfast");
const read = (file: string): string => readFileSync(path.join(deploy, file), "utf8");

/** Throws unless the command knows the verb and all of its options. */
function requireCommandLine(argv: readonly string[]): void {
  const { verb, rest, unknown } = findVerb(VERBS, argv);
  expect(unknown).toBeUndefined();
  if (verb === undefined) throw new Error(`no verb: ${argv.join(" ")}`);
  requireArguments(verb, readValues(verb, rest).words);
}

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly template: { readonly spec: Pod }; readonly ports?: unknown };
}

interface Pod {
  readonly securityContext: unknown;
  readonly containers: readonly [Container, ...Container[]];
}

interface Container {
  readonly args: readonly string[];
  readonly env?: unknown;
  readonly envFrom?: unknown;
  readonly securityContext: unknown;
  readonly livenessProbe?: { readonly httpGet: { readonly path: string } };
  readonly readinessProbe?: { readonly httpGet: { readonly path: string } };
}

const MODELS = { Deployment, Job, PodDisruptionBudget, PersistentVolumeClaim, Secret, Service };

/** Every resource that the chart makes with these values, checked against the schema of Kubernetes. */
function resources(values: { readonly [key: string]: Value }): Resource[] {
  const found: Resource[] = [];
  for (const [file, text] of renderChart(chart, values)) {
    if (file === "NOTES.txt") continue;
    for (const document of parseAllDocuments(text)) {
      expect([file, document.errors]).toEqual([file, []]);
      const resource = document.toJS() as Resource | null;
      if (resource === null) continue;
      const Model = MODELS[resource.kind as keyof typeof MODELS];
      new (Model as new (json: unknown) => { validate(): void })(resource).validate();
      found.push(resource);
    }
  }
  return found;
}
const byName = (all: readonly Resource[], name: string): Resource => {
  const found = all.find(({ kind, metadata }) => metadata.name === name && kind !== "PodDisruptionBudget");
  if (found === undefined) throw new Error(`no ${name} among ${all.map(({ metadata }) => metadata.name).join(", ")}`);
  return found;
};

const POSTGRES = { store: { existingSecret: "database" } };
const SQLITE = { store: { kind: "sqlite" } };
const ORDERS = { name: "orders", image: "example/orders:1", files: ["/app/dist/workflows.js"] };

describe("the Helm chart", () => {
  test("on PostgreSQL has two servers that are replaced one by one, after the migration", () => {
    const all = resources(POSTGRES);
    expect(all.map(({ kind }) => kind).sort()).toEqual(["Deployment", "Job", "PodDisruptionBudget", "Service"]);
    expect(byName(all, "release-server").spec).toMatchObject({
      replicas: 2,
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0 } },
    });
    const job = byName(all, "release-migrate");
    expect(job.metadata.annotations).toMatchObject({ "helm.sh/hook": "pre-install,pre-upgrade" });
    expect(job.spec.template.spec.containers[0].args).toEqual(["migrate"]);
    expect(byName(all, "release").spec.ports).toEqual([
      { name: "api", port: 7433, targetPort: "api", appProtocol: "kubernetes.io/h2c" },
    ]);
  });

  test("the probes tell a database that is away from a server that hangs", () => {
    const [container] = byName(resources(POSTGRES), "release-server").spec.template.spec.containers;
    expect(container.livenessProbe?.httpGet.path).toBe("/livez");
    expect(container.readinessProbe?.httpGet.path).toBe("/readyz");
    expect(container.args).toEqual(expect.arrayContaining(["--migrate", "check", "--auth", "keys", "--tls-proxy"]));
  });

  test("on SQLite has one server with a volume, which is stopped before the next one starts", () => {
    const all = resources({ ...SQLITE, server: { replicas: 5 } });
    expect(all.map(({ kind }) => kind).sort()).toEqual(["Deployment", "PersistentVolumeClaim", "Service"]);
    const { spec } = byName(all, "release-server");
    expect(spec).toMatchObject({ replicas: 1, strategy: { type: "Recreate" } });
    expect(spec.template.spec.containers[0].env).toEqual([{ name: "HOLDFAST_URL", value: "file:/data/holdfast.db" }]);
  });

  test("no container is root or writes to its own file system, and every command line is one of the command", () => {
    const cases: { readonly [key: string]: Value }[] = [
      POSTGRES,
      SQLITE,
      {
        store: { url: "postgres://u:p@db/app" },
        server: { tlsSecret: "tls", extraArgs: ["--jwt-issuer", "https://i"] },
      },
      { ...POSTGRES, server: { auth: ["none"], insecurePublic: true, podAnnotations: { a: "b" } } },
      { ...POSTGRES, workers: [ORDERS, { ...ORDERS, name: "mail", replicas: 0, existingSecret: "key" }] },
    ];
    for (const values of cases) {
      for (const { kind, spec } of resources(values)) {
        if (kind !== "Deployment" && kind !== "Job") continue;
        const { containers, securityContext } = spec.template.spec;
        expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
        for (const one of containers) {
          expect(one.securityContext).toMatchObject({ readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } });
          requireCommandLine(one.args);
        }
      }
    }
  });

  test("workers have the store of the chart, or a server and a key; on SQLite only the latter", () => {
    const all = resources({ ...POSTGRES, workers: [ORDERS, { ...ORDERS, name: "none", replicas: 0 }] });
    expect(byName(all, "release-worker-orders").spec).toMatchObject({ replicas: 1 });
    expect(byName(all, "release-worker-none").spec).toMatchObject({ replicas: 0 });
    expect(byName(all, "release-worker-orders").spec.template.spec.containers[0]).toMatchObject({
      args: ["worker", "/app/dist/workflows.js", "--name", "orders"],
      env: [{ name: "HOLDFAST_URL", valueFrom: { secretKeyRef: { name: "database", key: "url" } } }],
    });
    expect(() => resources({ ...SQLITE, workers: [ORDERS] })).toThrow("only the server reaches the file");
    const [worker] = resources({ ...SQLITE, workers: [{ ...ORDERS, existingSecret: "key" }] }).filter(({ metadata }) =>
      metadata.name.includes("worker"),
    );
    expect(worker?.spec.template.spec.containers[0].envFrom).toEqual([{ secretRef: { name: "key" } }]);
  });

  test("a store must be named, and values that mean nothing are refused", () => {
    expect(() => resources({})).toThrow("Set store.existingSecret or store.url");
    const validate = new Ajv({ strict: false }).compile(JSON.parse(read("helm/holdfast/values.schema.json")));
    const values = parse(read("helm/holdfast/values.yaml"));
    expect([validate(values), validate.errors]).toEqual([true, null]);
    expect(validate({ ...values, workers: [ORDERS] })).toBe(true);
    expect(validate({ ...values, store: { kind: "mysql" } })).toBe(false);
    expect(validate({ ...values, server: { replicaCount: 3 } })).toBe(false);
    expect(validate({ ...values, workers: [{ name: "Orders" }] })).toBe(false);
  });

  // skip: helm is not a package of Debian or npm
  test.skipIf(spawnSync("helm", ["version"]).status !== 0)("helm renders the same", () => {
    for (const values of [POSTGRES, { ...SQLITE, workers: [{ ...ORDERS, existingSecret: "key" }] }]) {
      const { status, stdout, stderr } = spawnSync(
        "helm",
        [
          "template",
          "release",
          chart,
          "--set-json",
          ...Object.entries(values).map(([k, v]) => `${k}=${JSON.stringify(v)}`),
        ],
        { encoding: "utf8" },
      );
      expect(status, stderr).toBe(0);
      const rendered = parseAllDocuments(stdout)
        .map((document) => document.toJS())
        .filter(Boolean);
      expect(rendered).toHaveLength(resources(values).length);
      expect(rendered).toEqual(expect.arrayContaining(resources(values)));
    }
  });
});

describe("the compose file", () => {
  const compose = parse(read("compose/compose.yaml"), { merge: true });
  const { postgres: _postgres, ...own } = compose.services;

  test("has PostgreSQL, a migration, two servers and a worker, in this order", () => {
    expect(Object.keys(compose.services)).toEqual(["postgres", "migrate", "server-1", "server-2", "worker"]);
    expect(own.migrate.depends_on).toEqual({ postgres: { condition: "service_healthy" } });
    for (const name of ["server-1", "server-2", "worker"])
      expect(own[name].depends_on).toEqual({ migrate: { condition: "service_completed_successfully" } });
    expect(compose.services.postgres.healthcheck.test[1]).toBe("pg_isready");
  });

  test("every service of ours is read-only and without capabilities, and its command line is one of the command", () => {
    for (const service of Object.values<Record<string, never>>(own)) {
      expect(service).toMatchObject({ read_only: true, tmpfs: ["/tmp"], cap_drop: ["ALL"] });
      requireCommandLine(service["command"] ?? []);
    }
    expect(own["server-1"].command).toEqual(own["server-2"].command);
  });
});

describe("the units of systemd", () => {
  const units = ["holdfast-server.service", "holdfast-worker@.service"];

  test.each(units)("%s starts a verb of the command, and has time to drain", (unit) => {
    const [, line = ""] = /^ExecStart=(\S+ .*)$/m.exec(read(`systemd/${unit}`)) ?? [];
    requireCommandLine(line.split(" ").slice(1));
    const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(read(`systemd/${unit}`)) ?? [];
    expect(Number(seconds)).toBeGreaterThan(15);
  });

  // skip: systemd is not on every machine
  test.skipIf(spawnSync("systemd-analyze", ["--version"]).status !== 0)("systemd finds no fault in them", () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-units-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    // It looks for the program, which is installed elsewhere.
    const program = path.join(folder, "holdfast");
    writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 });
    for (const unit of units) {
      const file = path.join(folder, unit.replace("@.", "@orders."));
      writeFileSync(file, read(`systemd/${unit}`).replace(/^ExecStart=\S+/m, `ExecStart=${program}`));
      const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", file], {
        encoding: "utf8",
      });
      expect([unit, status, stdout + stderr]).toEqual([unit, 0, ""]);
    }
  });
});

test("the image has two stages, is not root, and runs the command", () => {
  const steps = readDockerfile(read("image/Dockerfile"));
  expect(steps.filter(({ word }) => word === "FROM")).toHaveLength(2);
  const last = (word: string): string | undefined => steps.filter((step) => step.word === word).at(-1)?.rest;
  expect(last("USER")).toBe("1000:1000");
  expect(JSON.parse(last("ENTRYPOINT") ?? "")).toEqual(["holdfast"]);
  expect(last("EXPOSE")).toBe("7433");
});

test("the example for GitHub Actions checks out, installs, and calls the command", () => {
  const { on, jobs } = parse(read("github/replay-check.yml"));
  expect([on, Object.keys(jobs)]).toEqual(["pull_request", ["replay-check"]]);
  const { steps } = jobs["replay-check"] as { steps: readonly { readonly uses?: string; readonly run?: string }[] };
  expect(steps.map(({ uses, run }) => uses ?? run?.split(" ").slice(0, 2).join(" "))).toEqual([
    "actions/checkout@v4",
    "actions/setup-node@v4",
    "npm ci",
    "npx holdfast",
  ]);
  requireCommandLine((steps.at(-1)?.run ?? "").split(" ").slice(2));
});

test("the example workflows of the compose file can be loaded", () => {
  const cache = path.join(root, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(path.join(cache, "compose-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(path.join(folder, "workflows"));
  copyFileSync(path.join(deploy, "compose/workflows/workflows.js"), path.join(folder, "workflows/workflows.mjs"));
  const { status, stderr } = spawnSync(
    process.execPath,
    ["--conditions=holdfast-source", "--import", "tsx", path.join(folder, "workflows/workflows.mjs")],
    { cwd: root, encoding: "utf8" },
  );
  expect([status, stderr]).toEqual([0, ""]);
});
