import type { VersionRow } from "holdfast";
import type { Action } from "../../command/verb.ts";
import type { Column } from "../../output/table.ts";
import { relativeTime } from "../../output/times.ts";

export const list: Action = async (call) => {
  const hf = await call.open();
  const rows = await hf.versions.list(call.word("workflow"));
  const { paint } = call.out;
  const now = call.io.now();
  const columns: readonly Column<VersionRow>[] = [
    { title: "WORKFLOW", value: ({ workflow }) => workflow, cut: "middle", paint: (text) => paint.bold(text) },
    { title: "VERSION", value: ({ version }) => version, cut: "middle" },
    { title: "DEFAULT", value: ({ isDefault }) => (isDefault ? "yes" : ""), optional: true, paint: paint.green },
    { title: "CANARY", value: ({ share }) => (share === 0 ? "" : `${share * 100} %`), optional: true },
    { title: "DEPRECATED", value: ({ deprecated }) => (deprecated ? "yes" : ""), optional: true, paint: paint.yellow },
    { title: "REGISTERED", value: ({ registeredAt }) => relativeTime(registeredAt, now) },
    { title: "CODE", value: ({ hash }) => hash.slice(0, 12), paint: (text) => paint.dim(text) },
  ];
  call.out.table(rows, columns, "No worker has offered a workflow yet.");
  return undefined;
};

export const setDefault: Action = async (call) => {
  const hf = await call.open();
  const [workflow, version] = [call.argument("workflow"), call.argument("version")];
  await hf.versions.setDefault(workflow, version);
  call.out.done(`New runs of ${call.out.paint.bold(workflow)} get version ${version}`, {
    workflow,
    version,
    isDefault: true,
  });
  return undefined;
};

export const deprecate: Action = async (call) => {
  const hf = await call.open();
  const [workflow, version, deprecated] = [call.argument("workflow"), call.argument("version"), !call.flag("undo")];
  await hf.versions.deprecate(workflow, version, deprecated);
  const what = deprecated ? "is deprecated" : "is no longer deprecated";
  call.out.done(`Version ${version} of ${call.out.paint.bold(workflow)} ${what}`, { workflow, version, deprecated });
  return undefined;
};
