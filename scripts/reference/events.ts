/** docs/EVENTS.md: the table of events, for people. */
import { EVENT_TABLE } from "../../packages/holdfast/src/model/event.ts";

const HEAD = `# Events

<!-- Written by \`npm run docs\` from \`packages/holdfast/src/model/event.ts\`. Change that. -->

The events that the history of a run may have (\`handle.history()\`). Each event has its number (\`seq\`, from 0 without gaps), its time
(\`at\`), and the fields in the table. Stores keep a type as its code, so a code is never reused.

The role says how an event came to be, and so how replay treats it:

- **delivered**: it was delivered to the workflow code, which ran until it waited again. That is a turn.
- **command**: workflow code requested it during a turn, so it comes right after the event of that turn. A *lenient* command
  may be missing from, or new in, another version of the code.
- **note**: the engine recorded it; workflow code never saw it.
- **row**: it is kept in the run row. The start and the end of a run have no event row.

Events about an op may also have these fields. They are for people: replay reads none of them.

- \`after\`: the last event that the code had seen when it asked for the op (steps, children, messages to other runs). In the store it is
  left out where that is the event directly before.
- \`worker\`: the name of the worker that the attempt ran on (steps). In the store it is written once, in the first such event after a worker
  has taken up the run, and again after every 500 events.
- \`group\`, \`branch\`: the call of \`ctx.parallel\` or \`ctx.race\` that the op belongs to (\`parallel\`, \`parallel#2\`), and its branch there.

| code | type | category | role | about | value | further fields | written by |
|---|---|---|---|---|---|---|---|
`;

const ABOUT = {
  op: "an op",
  signal: "a signal, by its name",
  patch: "a patch, by its id",
  update: "an update, by its op or its name",
};

export function renderEvents(): string {
  const rows = EVENT_TABLE.map((row, code) => {
    const { type, category, role, op, payload, meta, writtenBy } = row;
    const shownRole = "lenient" in row ? `${role}, lenient` : role;
    const fields = meta.map((name) => `\`${name}\``).join(", ");
    const cells = [code, `\`${type}\``, category, shownRole, op === null ? "the run" : ABOUT[op], payload ?? ""];
    return `| ${[...cells, fields, writtenBy].join(" | ")} |`;
  });
  return `${HEAD}${rows.join("\n")}\n`;
}
