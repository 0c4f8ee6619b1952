// Pages of a list with cursors. Where one is stands in the URL; how many there are nobody counts.
import { Button } from "../../components/button.tsx";
import { TableFoot } from "../../components/table.tsx";
import { useSearchState } from "../../search-state.ts";
import { countOf } from "../../text/count-text.ts";

export interface PagerProps {
  /** Of the next page; null: this is the last one. */
  readonly cursor: string | null;
  readonly shown: number;
  /** "task" */
  readonly noun: string;
  /** @defaultValue the noun with an s */
  readonly plural?: string;
  /** The name in the URL. @defaultValue "cursor" */
  readonly name?: string;
}

export function Pager({ cursor, shown, noun, plural = `${noun}s`, name = "cursor" }: PagerProps) {
  const [search, setSearch] = useSearchState();
  const first = search[name] === undefined;
  return (
    <TableFoot>
      <span>
        {countOf(shown, noun, plural)}
        {first && cursor === null ? "" : " on this page"}
      </span>
      {first ? null : (
        <Button small onClick={() => setSearch({ [name]: undefined })}>
          First page
        </Button>
      )}
      {cursor === null ? null : (
        <Button small onClick={() => setSearch({ [name]: cursor })}>
          Next page
        </Button>
      )}
    </TableFoot>
  );
}
