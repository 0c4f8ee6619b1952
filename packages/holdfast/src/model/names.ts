/** Longest name of a workflow, op, signal, queue, namespace or attribute, in UTF-16 units. */
export const NAME_LENGTH_MAX = 200;
/** Longest id that a caller may give to a run or to a message. */
export const ID_LENGTH_MAX = 400;
/** Longest reason of a cancel or a terminate. */
export const REASON_LENGTH_MAX = 4_000;

// Control characters, and lone surrogates: PostgreSQL refuses both in text, so they are refused before anything is written.
const FORBIDDEN = /[\u0000-\u001f\u007f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
const UNSTORABLE = /\u0000|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
// The second `charge` of a run is named `charge#2`; a name of that form would collide with it.
const OCCURRENCE_SUFFIX = /#\d+$/;

/** What is wrong with a name, or undefined if it is valid. */
export function nameFault(name: unknown): string | undefined {
  const fault = textFault(name, NAME_LENGTH_MAX);
  if (fault !== undefined) return fault;
  if (OCCURRENCE_SUFFIX.test(name as string)) return 'ends in "#" and a number, which is reserved for repeated ops';
  return undefined;
}

/** What is wrong with an id given by a caller, or undefined if it is valid. */
export function idFault(id: unknown): string | undefined {
  return textFault(id, ID_LENGTH_MAX);
}

/** Why not every store can keep this text, or undefined if all can. Unlike a name, it may contain line breaks. */
export function valueFault(text: string): string | undefined {
  return UNSTORABLE.test(text) ? "contains a NUL or half of a surrogate pair" : undefined;
}

function textFault(text: unknown, lengthMax: number): string | undefined {
  if (typeof text !== "string") return `is ${text === null ? "null" : typeof text}, not a string`;
  if (text.length === 0) return "is empty";
  if (text.length > lengthMax) return `is ${text.length} characters long; the limit is ${lengthMax}`;
  if (FORBIDDEN.test(text)) return "contains a control character or half of a surrogate pair";
  return undefined;
}
