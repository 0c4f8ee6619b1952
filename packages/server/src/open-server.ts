/** Puts the parts together, and takes them apart again in order. */
import { setMaxListeners } from "node:events";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import {
  AdminService,
  Health,
  NamespaceService,
  ServerReflection,
  type ServerReflectionRequest,
  StoreService as StoreProtocol,
  WorkerService,
  WorkflowScheduleService,
  WorkflowService,
} from "@holdfast/protocol";
import { HoldfastError, type OpenedClients, openClients } from "holdfast/adapter";
import { AuditLog } from "./access/audit-log.ts";
import { Authenticator, type AuthMethod } from "./access/authenticator.ts";
import { FailedLogins } from "./access/failed-logins.ts";
import { NamespaceRules } from "./access/namespace-rules.ts";
import { PERMISSIONS } from "./access/permissions.ts";
import { DEFAULT_RATES, RateLimits } from "./access/rate-limits.ts";
import { callTrace, traceTelemetry } from "./call-trace.ts";
import { ClientPool } from "./client-pool.ts";
import { GuestRuns } from "./guests/guest-runs.ts";
import type { MountedPages } from "./mounted-pages.ts";
import type { RunningService, ServiceHost } from "./mounted-service.ts";
import { browserRules } from "./port/browser-rules.ts";
import { COMPRESSIONS } from "./port/compressions.ts";
import { Listener } from "./port/listener.ts";
import { openApi } from "./port/open-api.ts";
import { contextValuesOf } from "./port/request-facts.ts";
import { Requests } from "./port/requests.ts";
import { ServerCounts } from "./port/server-counts.ts";
import { authMethods, cannotListen, checkServerOptions } from "./server-option-checks.ts";
import { PORT_DEFAULT, type ServerOptions } from "./server-options.ts";
import { adminService } from "./services/admin-service.ts";
import { Guard } from "./services/guard.ts";
import { healthService } from "./services/health.ts";
import { namespaceService } from "./services/namespace-service.ts";
import { Reflection } from "./services/reflection.ts";
import { scheduleService } from "./services/schedule-service.ts";
import { untilAborted } from "./services/until-aborted.ts";
import { workerService } from "./services/worker-service.ts";
import { workflowService } from "./services/workflow-service.ts";
import { Admission } from "./store-service/admission.ts";
import { startDuties } from "./store-service/duties.ts";
import { RECHECK_MS, StorePort } from "./store-service/store-port.ts";
import { StoreService } from "./store-service/store-service.ts";
import { VERSION as version } from "./store-service/version.ts";
import { Webhooks } from "./webhooks.ts";

/**
 * How requests of calls are read; a payload has its own, smaller limit. A misspelled filter must not mean every run: unknown
 * fields, and unknown names of enums, are refused.
 */
const READING = {
  readMaxBytes: 8 * 1024 * 1024,
  jsonOptions: { ignoreUnknownFields: false },
  acceptCompression: COMPRESSIONS,
  interceptors: [callTrace],
};
/** Of services with calls that anybody may make: nobody who has no token makes the server keep more. */
const SMALL = { readMaxBytes: 64 * 1024 };
/** Calls that are being answered have this long when the server closes. */
const CALLS_MS_MAX = 10_000;
const OWN_SERVICES = [WorkflowService, WorkflowScheduleService, WorkerService, AdminService, NamespaceService];

/** A server that listens. */
export interface Server {
  /** `http://127.0.0.1:7433` */
  readonly url: string;
  readonly port: number;
  /** Where the dashboard is, if there is one. */
  readonly dashboard?: string;
  /** How many clients and workers have a session with this server. */
  readonly sessions: number;
  /**
   * Drains and stops: not ready any more; no new connections; sessions are sent to other servers; polls are answered, streams end;
   * calls have ten seconds; then the store is closed. Workers keep what they hold, and go on with the next server. `balancerMs` takes
   * the place of the option.
   */
  close(options?: { readonly balancerMs?: number }): Promise<void>;
}

export async function openServer(options: ServerOptions): Promise<Server> {
  checkServerOptions(options);
  const opened = await (options.open ?? (() => openStoreOf(options)))();
  try {
    return await serve(options, opened);
  } catch (error) {
    await opened.close();
    throw error;
  }
}

function openStoreOf(options: ServerOptions): Promise<OpenedClients> {
  const { url, migrate, durability, schema, logger, adapters, runLimits } = options;
  return openClients(url, {
    telemetry: traceTelemetry,
    ...(migrate === undefined ? {} : { migrate }),
    ...(durability === undefined ? {} : { durability }),
    ...(schema === undefined ? {} : { schema }),
    ...(logger === undefined ? {} : { logger }),
    ...(adapters === undefined ? {} : { adapters }),
    ...(runLimits === undefined ? {} : { limits: runLimits }),
  });
}

async function serve(options: ServerOptions, opened: OpenedClients): Promise<Server> {
  const { clock, log } = opened;
  const { host = "127.0.0.1", port = PORT_DEFAULT, tls, balancerMs = 0, coordinate = true } = options;
  const parts = makeParts(options, opened);
  const { clients, audit, running, requests, drain, counts, sessions, guests, pages } = parts;
  const { firstSweepMs } = options.sessions ?? {};
  const patient = firstSweepMs === undefined ? {} : { firstSweepMs };
  const duties = coordinate ? await startDuties({ opened: opened.opened, clock, log, ...patient }) : undefined;
  const patience = options.patience ?? {};
  const secure = typeof tls === "object" ? tls : undefined;
  const { handler } = requests;
  const listening = Listener.open({ host, port, tls: secure, clock, log, counts, handler, ...patience });
  const listener = await listening.catch(async (error: unknown) => {
    await duties?.stop();
    throw cannotListen(error, host, port);
  });
  const shownHost = host.includes(":") ? `[${host}]` : host;
  let closing: Promise<void> | undefined;
  const close = async (waitMs: number): Promise<void> => {
    drain.abort();
    await new Promise<void>((resolve) => void clock.setTimer(waitMs, resolve));
    listener.drain();
    await Promise.all([requests.idle(CALLS_MS_MAX), sessions.drain()]);
    await guests.close();
    for (const { close: end } of running) await end?.();
    await pages?.close();
    await listener.close();
    await duties?.stop();
    await clients.close();
    await audit.close();
    await opened.close();
  };
  const url = `${secure ? "https" : "http"}://${shownHost}:${listener.port}`;
  return {
    url,
    port: listener.port,
    ...(pages ? { dashboard: `${url}/` } : {}),
    get sessions() {
      return sessions.sessions;
    },
    close(wanted) {
      closing ??= close(wanted?.balancerMs ?? balancerMs);
      return closing;
    },
  };
}

function makeParts(options: ServerOptions, opened: OpenedClients) {
  const { clock, random, log, store } = opened;
  const { access, notifier } = opened.opened;
  const ports = { clock, random, store };
  const methods = authMethods(options);
  if (methods.includes("keys") && !access)
    throw new HoldfastError("not_supported", 'openServer: this store keeps no API keys, which auth "keys" needs.');
  const drain = new AbortController();
  // Every poll that waits listens to it.
  setMaxListeners(0, drain.signal);
  const audit = new AuditLog({ access, clock, random, log });
  const namespaces = new NamespaceRules(access, clock);
  const limits = new RateLimits(clock, { ...DEFAULT_RATES, ...options.limits });
  const clients = new ClientPool(opened);
  const counts = new ServerCounts();
  const onRefused = (address: string, outcome: string): void =>
    audit.add({ actor: "anonymous", action: "Login", namespace: "*", subject: "", outcome, address });
  const { jwt, mtls, services: mounted = [] } = options;
  const ways = { ...(jwt ? { jwt } : {}), ...(mtls ? { mtls } : {}) };
  const authenticator = new Authenticator({ access, clock, log, methods, onRefused, ...ways });
  const permissions = Object.assign({}, PERMISSIONS, ...mounted.map((one) => one.permissions));
  const draining = drain.signal;
  const asking = { permissions, authenticator, limits, namespaces };
  const guard = new Guard({ ...asking, clients, audit, counts, log, clock, draining });
  const guests = new GuestRuns({ ...ports, clients });
  const unready = readiness(opened, draining);
  const host: ServiceHost = {
    ...{ ...ports, opened: opened.opened, log, draining },
    principalOf: (context) => guard.principalOf(context),
    requireEnabled: (namespace) => namespaces.requireEnabled(namespace),
  };
  const running = mounted.map((one) => one.mount(host));
  const features = ["store", ...mounted.flatMap((one) => one.features ?? [])];
  const shared = { ...ports, namespaces, limits, access, audit, notifier, unready, version, features, guests };
  const sessions = new StoreService({ ...opened.opened, clock, random, log, limits: options.sessions?.limits ?? {} });
  counts.sessions = () => sessions.sessions;
  const routes = routesOf(guard, shared, running, draining);
  const pages = options.dashboard && mountPages(options, opened, methods, authenticator, draining);
  const webhooks = new Webhooks({ namespaces, limits, failed: new FailedLogins(clock), clients, audit, log });
  const requests = new Requests({
    clock,
    rules: browserRules(options.host ?? "127.0.0.1", !methods.includes("none"), options.hosts ?? []),
    services: connectNodeAdapter({ routes: routes.add, contextValues: contextValuesOf, ...READING }),
    methodOf: (path) => routes.methods.get(path),
    stranger: methods.includes("none") ? undefined : (...asked) => guard.strangerAt(...asked),
    store: new StorePort({
      service: sessions,
      authenticator,
      admission: new Admission(limits, namespaces),
      audit,
      clock,
      log,
      recheckMs: options.sessions?.recheckMs ?? RECHECK_MS,
    }),
    hooks: (...asked) => webhooks.answer(...asked),
    pages: pages?.handler ?? options.pages,
    unready,
    requireReader: async (authorization, facts) => {
      const { grants } = await authenticator.principalOf({ authorization, ...facts });
      if (grants.length === 0) throw new HoldfastError("permission_denied", "The token allows nothing.");
    },
    metrics: async () => counts.text() + ((await options.metrics?.()) ?? ""),
    openApi: openApi([...OWN_SERVICES, ...running.map(({ service }) => service)], version),
    bodyMsMax: options.patience?.bodyMsMax,
  });
  return { clients, audit, running, requests, drain, counts, sessions, guests, pages };
}

/** The dashboard has a client of its own, so that its codec and its namespace are nobody else's. */
function mountPages(
  options: ServerOptions,
  opened: OpenedClients,
  methods: readonly AuthMethod[],
  authenticator: Authenticator,
  draining: AbortSignal,
): MountedPages | undefined {
  const { clock, random } = opened;
  const client = opened.client("default");
  const isOpen = methods.includes("none");
  const reachable = options.insecurePublic === true || (options.hosts ?? []).length > 0;
  const mounted = options.dashboard?.({
    client,
    access: opened.opened.access,
    clock,
    random,
    door: isOpen ? (reachable ? "everybody" : "local") : "login",
    keys: methods.includes("keys"),
    principalOf: (credentials) => authenticator.principalOf(credentials),
    draining,
  });
  return (
    mounted && {
      handler: mounted.handler,
      async close() {
        await mounted.close();
        await client.close();
      },
    }
  );
}

type Shared = Parameters<typeof workflowService>[0] &
  Parameters<typeof scheduleService>[0] &
  Parameters<typeof workerService>[0] &
  Parameters<typeof adminService>[0] &
  Parameters<typeof namespaceService>[0];

/** The services, and the paths of their calls. */
function routesOf(guard: Guard, shared: Shared, running: readonly RunningService[], draining: AbortSignal) {
  const services: DescService[] = [...OWN_SERVICES, Health, ServerReflection, ...running.map(({ service }) => service)];
  const reflection = new Reflection([...services, StoreProtocol]);
  const isService = (name: string): boolean => services.some(({ typeName }) => typeName === name);
  const add = (router: ConnectRouter): void => {
    router.service(WorkflowService, guard.implementation(WorkflowService, workflowService(shared)));
    router.service(WorkflowScheduleService, guard.implementation(WorkflowScheduleService, scheduleService(shared)));
    router.service(WorkerService, guard.implementation(WorkerService, workerService(shared)));
    router.service(AdminService, guard.implementation(AdminService, adminService(shared)), SMALL);
    router.service(NamespaceService, guard.implementation(NamespaceService, namespaceService(shared)));
    router.service(Health, guard.implementation(Health, healthService({ ...shared, isService })), SMALL);
    router.service(ServerReflection, {
      async *serverReflectionInfo(requests: AsyncIterable<ServerReflectionRequest>, context) {
        await guard.requireSomeGrant(context, ServerReflection.method.serverReflectionInfo);
        for await (const request of untilAborted(requests, draining)) yield reflection.answer(request);
      },
    });
    for (const one of running) {
      for (const method of one.service.methods) guard.permissionOf(method);
      one.route(router);
    }
  };
  const methods = new Map<string, DescMethod>();
  for (const service of services)
    for (const method of service.methods) methods.set(`/${service.typeName}/${method.name}`, method);
  return { add, methods };
}

/** Empty if the server can do its work; else why not. Asked often: the store is asked at most once a second. */
function readiness({ store, clock }: OpenedClients, draining: AbortSignal): () => Promise<string> {
  let known: Promise<string> | undefined;
  const look = async (): Promise<string> => {
    try {
      await store.readClock();
      return "";
    } catch {
      return "The store does not answer.";
    }
  };
  return () => {
    if (draining.aborted) return Promise.resolve("The server is draining.");
    if (known === undefined) {
      known = look();
      clock
        .setTimer(1_000, () => {
          known = undefined;
        })
        .unref?.();
    }
    return known;
  };
}
