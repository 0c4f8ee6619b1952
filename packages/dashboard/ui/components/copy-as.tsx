import { type CurlRequest, cliText, curlText } from "../text/shell-text.ts";
import { Menu } from "./menu.tsx";
import { useToasts } from "./toasts.tsx";

export interface CopyAsProps {
  /** The address of this view. @defaultValue the address of the page */
  readonly link?: string;
  /** The words of the command, quoted when copied: ["holdfast", "workflow", "get", id]. */
  readonly cli?: readonly string[];
  readonly curl?: CurlRequest;
  readonly typescript?: string;
}

/** The button "Copy as": link, CLI, curl, TypeScript. What is copied never contains a token. */
export function CopyAs({ link, cli, curl, typescript }: CopyAsProps) {
  const copy = useCopy();
  const items = [
    { label: "Link", onSelect: () => copy(link ?? location.href, "link") },
    ...(cli === undefined ? [] : [{ label: "CLI", onSelect: () => copy(cliText(cli), "command") }]),
    ...(curl === undefined ? [] : [{ label: "curl", onSelect: () => copy(curlText(curl), "curl command") }]),
    ...(typescript === undefined ? [] : [{ label: "TypeScript", onSelect: () => copy(typescript, "code") }]),
  ];
  return <Menu label="Copy as" items={items} />;
}

/** Copies, and says so. */
export function useCopy(): (text: string, what: string) => void {
  const toasts = useToasts();
  return (text, what) => {
    const refused = () => toasts.failed(`The browser did not allow copying. The ${what}: ${text}`);
    if (navigator.clipboard === undefined) return refused();
    navigator.clipboard.writeText(text).then(() => toasts.done(`Copied the ${what}`), refused);
  };
}
