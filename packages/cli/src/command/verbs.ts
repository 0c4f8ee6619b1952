/** All verbs. */
import { ACCESS_VERBS } from "../verbs/access/table.ts";
import { CODE_VERBS } from "../verbs/code/table.ts";
import { LAB_VERBS } from "../verbs/lab/table.ts";
import { SCHEDULE_VERBS } from "../verbs/schedule/table.ts";
import { STORE_VERBS } from "../verbs/store/table.ts";
import { WORKFLOW_VERBS } from "../verbs/workflow/table.ts";
import { SHELLS } from "./completion.ts";
import type { Verb } from "./verb.ts";
import type { VerbArgument } from "./verb-shape.ts";

const NAME: VerbArgument = { name: "name", about: "the name of the context" };

const OWN_VERBS: readonly Verb[] = [
  {
    path: "context add",
    about: "remember a store or a server under a name; --url, --namespace and --token say which",
    arguments: [NAME],
    examples: [
      "holdfast context add prod --url https://holdfast.example.com --token $TOKEN",
      "holdfast context add local --url file:app.db --namespace tests",
    ],
    load: async () => (await import("../verbs/context.ts")).add,
  },
  {
    path: "context use",
    about: "use a context wherever no URL is given",
    arguments: [NAME],
    examples: ["holdfast context use prod"],
    load: async () => (await import("../verbs/context.ts")).use,
  },
  {
    path: "context list",
    about: "list contexts",
    examples: ["holdfast context list"],
    load: async () => (await import("../verbs/context.ts")).list,
  },
  {
    path: "context remove",
    about: "forget a context",
    arguments: [NAME],
    examples: ["holdfast context remove prod"],
    load: async () => (await import("../verbs/context.ts")).remove,
  },
  {
    path: "completion",
    about: `print the completion script of a shell: ${SHELLS.join(", ")}`,
    arguments: [{ name: "shell", about: SHELLS.join(", ") }],
    examples: [
      `eval "$(holdfast completion bash)"`,
      `holdfast completion zsh > "\${fpath[1]}/_holdfast"`,
      "holdfast completion fish > ~/.config/fish/completions/holdfast.fish",
    ],
    load: async () => (await import("../verbs/completion.ts")).completion,
  },
];

export const VERBS: readonly Verb[] = [
  ...CODE_VERBS,
  ...WORKFLOW_VERBS,
  ...SCHEDULE_VERBS,
  ...STORE_VERBS,
  ...ACCESS_VERBS,
  ...LAB_VERBS,
  ...OWN_VERBS,
];
