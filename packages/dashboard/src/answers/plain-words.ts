/** The engine tells programmers which call helps. People at these pages have buttons, and other pages. */

const CALLS: readonly (readonly [RegExp, string])[] = [
  [
    /\bCall handle\.resume\(\), or handle\.terminate\(\) to end the run as it is\./g,
    "Resume it, or terminate it as it is.",
  ],
  [/\bhandle\.resume\(\) lets it continue\./g, "Resume lets it continue."],
  [/\bhandle\.terminate\(\) ends the run as it is\./g, "Terminate ends it as it is."],
  [/\bhf\.queues\.set changes it\./g, "The page Queues & limits changes it."],
  [/\bhf\.queues\(\) shows what waits\./g, "The page Queues & limits shows what waits."],
  [/\bhf\.schedules\.list\(\) shows those there are\./g, "The page Schedules shows those there are."],
  [/\bChange it with hf\.schedules\.update\("[^"]*", …\), or choose\b/g, "Change that one, or choose"],
  [/\brepeat hf\.move\./g, "repeat the move."],
  [/ \(see steps\(\)\)/g, ""],
  [/\bsteps\(\) shows its ops\b/g, "its timeline shows its ops"],
  [/, pass before: (\d+)/g, ", name event $1"],
  [/\buse retry\(\) of its handle\b/g, "retry the run"],
];

/** The text as people at these pages need it. */
export function plainWords(text: string): string {
  return CALLS.reduce((told, [call, words]) => told.replace(call, words), text);
}
