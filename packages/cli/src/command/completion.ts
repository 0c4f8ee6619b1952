/**
 * Completions: small scripts that ask the command itself (`holdfast --complete <words…>`), so that they never lag behind. That answer
 * comes from the table of verbs alone; no store is opened.
 */
import { GLOBAL_OPTIONS, type VerbShape } from "./verb-shape.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

const SCRIPTS: Readonly<Record<Shell, string>> = {
  // COMP_WORDS is split at ":" and "=" as well, so that a URL would be several words.
  bash: `_holdfast() {
  local line typed="\${COMP_LINE:0:COMP_POINT}"
  local -a words
  read -r -a words <<< "$typed"
  if [[ $typed == *[[:space:]] ]]; then words+=(""); fi
  COMPREPLY=()
  while IFS= read -r line; do COMPREPLY+=("\${line%%$'\\t'*}"); done < <(holdfast --complete "\${words[@]:1}" 2>/dev/null)
  if [ \${#COMPREPLY[@]} -eq 0 ]; then compopt -o default; fi
}
complete -F _holdfast holdfast
`,
  zsh: `#compdef holdfast
_holdfast() {
  local -a found
  local line
  while IFS= read -r line; do found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}"); done < <(holdfast --complete "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#found} )); then _describe holdfast found; else _files; fi
}
compdef _holdfast holdfast
`,
  // Without -f, fish would offer files among the verbs.
  fish: `function __holdfast_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found (holdfast --complete $words[2..-1] 2>/dev/null)
  if set -q found[1]
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c holdfast -f -a '(__holdfast_complete)'
`,
};

export function completionScript(shell: Shell): string {
  return SCRIPTS[shell];
}

/** What may stand where the cursor is, one line each: the word, a tab, what it is. */
export function complete(verbs: readonly VerbShape[], words: readonly string[]): string[] {
  const current = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const path: string[] = [];
  let skip = false;
  for (const word of before) {
    if (skip || word.startsWith("-")) {
      skip = !skip && GLOBAL_OPTIONS.some(({ name, value }) => `--${name}` === word && value !== undefined);
      continue;
    }
    const longer = [...path, word].join(" ");
    if (!verbs.some((verb) => verb.path === longer || verb.path.startsWith(`${longer} `))) break;
    path.push(word);
  }
  const joined = path.join(" ");
  const verb = verbs.find((one) => one.path === joined);
  const options = [...(verb?.options ?? []), ...GLOBAL_OPTIONS];
  const last = before.at(-1);
  const open = options.find(({ name, value }) => `--${name}` === last && value !== undefined);
  const found: [string, string][] = open
    ? (open.choices ?? []).map((choice) => [choice, open.about])
    : current.startsWith("-")
      ? options.map(({ name, about }) => [`--${name}`, about])
      : verb
        ? []
        : nextWords(verbs, path);
  return found.filter(([word]) => word.startsWith(current)).map(([word, about]) => `${word}\t${about}`);
}

function nextWords(verbs: readonly VerbShape[], path: readonly string[]): [string, string][] {
  const prefix = path.length === 0 ? "" : `${path.join(" ")} `;
  const words = new Map<string, string>();
  for (const verb of verbs) {
    if (!verb.path.startsWith(prefix)) continue;
    const [word = ""] = verb.path.slice(prefix.length).split(" ");
    if (!words.has(word)) words.set(word, verb.path === `${prefix}${word}` ? verb.about : word);
  }
  return [...words];
}
