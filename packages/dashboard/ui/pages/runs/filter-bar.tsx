import { type FormEvent, lazy, Suspense, useState } from "react";
import { FilterError, parseFilter } from "../../../src/filter/filter-text.ts";
import { Button } from "../../components/button.tsx";
import { Chip, Chips } from "../../components/chips.tsx";
import { useNow, useZone } from "../../components/time-settings.tsx";
import { useSearchState } from "../../search-state.ts";
import { useKey } from "../../shell/keys.ts";
import { safeLine } from "../../text/safe-text.ts";
import { timeText } from "../../text/time-text.ts";
import { chipsOf } from "./run-filter.ts";
import styles from "./runs.module.css";

const FilterDialog = lazy(async () => ({ default: (await import("./filter-dialog.tsx")).FilterDialog }));

/** The conditions as chips, and the same as text. */
export function FilterBar() {
  const [search, change] = useSearchState();
  const { zone } = useZone();
  const [adding, setAdding] = useState(false);
  const asText = search.text === "1" || (search.q ?? "") !== "";
  useKey("f", "Filter", () => setAdding(true));
  const remove = (names: readonly string[]) => change(Object.fromEntries(names.map((name) => [name, undefined])));
  return (
    <>
      <Chips label="Filters">
        {chipsOf(search, (at) => timeText(at, zone)).map((chip) => (
          <Chip
            key={chip.names.join(" ")}
            name={safeLine(chip.label)}
            value={safeLine(chip.value)}
            removeLabel={`Remove ${safeLine(chip.what)} filter`}
            onRemove={() => remove(chip.names)}
            onEdit={() => setAdding(true)}
          />
        ))}
        <Button kind="quiet" icon="plus" onClick={() => setAdding(true)}>
          Filter <kbd>f</kbd>
        </Button>
        {asText ? (
          <FilterText key={search.q ?? ""} />
        ) : (
          <Button kind="quiet" onClick={() => change({ text: "1" })}>
            As text
          </Button>
        )}
      </Chips>
      <Suspense>{adding ? <FilterDialog open onClose={() => setAdding(false)} /> : null}</Suspense>
    </>
  );
}

/** AND, OR, parentheses and quotes; says where it cannot be read while somebody types. */
function FilterText() {
  const [search, change] = useSearchState();
  const [text, setText] = useState(search.q ?? "");
  const now = useNow();
  const wrong = mistakeIn(text, now);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (wrong === undefined) change({ q: text.trim(), text: text.trim() === "" ? undefined : "1" });
  };
  return (
    <>
      <form className={styles.text} onSubmit={submit}>
        <input
          aria-label="Filter as text"
          aria-invalid={wrong !== undefined}
          aria-describedby="filter-mistake"
          placeholder={`status:failed AND (workflow:order OR error:"card declined")`}
          value={text}
          spellCheck={false}
          onChange={(event) => setText(event.target.value)}
        />
        <Button type="submit">Apply</Button>
        <Button kind="quiet" onClick={() => change({ q: undefined, text: undefined })}>
          Clear
        </Button>
      </form>
      <span id="filter-mistake" className={wrong === undefined ? "vh" : styles.wrong}>
        {wrong}
      </span>
    </>
  );
}

function mistakeIn(text: string, now: number): string | undefined {
  try {
    parseFilter(text, now);
    return undefined;
  } catch (error) {
    if (error instanceof FilterError) return `${safeLine(error.message)} (character ${error.position + 1})`;
    return safeLine(String(error));
  }
}
