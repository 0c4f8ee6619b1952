/** docs/EVENTS.md: the table of events, for people. */
import { EVENT_TABLE } from "../../packages/holdfast/src/model/event.ts";

const HEAD = `# Events

<!-- Written by \`npm run docs\` from \`packages/holdfast/src/model/event.ts\`. Change that. -->

What may stand in the history of a run (\`handle.history()\`). Each event has its number (\`seq\`, from 0 without gaps), its time
(\`at\`), and what the table says. Stores keep a type as its code, so a code is never used for something else.

The role says how an event came to be, and so how replay treats it:

- **delivered**: it was handed to the workflow code, which ran until it had nothing left to do. That is a turn.
- **command**: workflow code asked for it during a turn, so it stands right behind the event of that turn. A *lenient* one may
  come and go between versions of the code.
- **note**: the engine wrote it down; workflow code never saw it.
- **row**: it is the run row. The start and the end of a run have no row of their own.

| code | type | category | role | about | value | further fields | written by |
|---|---|---|---|---|---|---|---|
`;

const ABOUT = { op: "an op", signal: "a signal, by its name", patch: "a patch, by its id" };

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
