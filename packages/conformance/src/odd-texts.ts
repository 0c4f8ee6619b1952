/** Text that is allowed in names and ids and that stores are known to break on. */
export const TEXTS = [
  "plain",
  "with space",
  " ",
  "über straße",
  "Ελληνικά עברית العربية",
  "日本語の名前",
  "😀👩‍👩‍👧 family",
  "\u0085\u00a0\u200b\u200f\u2028\ufeff\uffff",
  "a'b\"c`d",
  "a,b;c|d{e}[f](g)",
  "back\\slash \\n \\u0000",
  "%_*?^$.+",
  "$1 {x} :p @v ?",
  "'; drop table runs; --",
  "null",
  "0",
  "1e3",
  "true",
  "a:b/c#d",
  "__proto__",
];

/** Pairs that a sloppy comparison treats as equal. */
export const PAIRS = [
  ["order", "Order"],
  ["order", "order "],
  ["order", " order"],
  ["\u00e9", "e\u0301"],
  ["strasse", "straße"],
  ["1", "01"],
  ["1", "1.0"],
  ["a", "\u0430"],
  ["x\u200b", "x"],
  ["İ", "I"],
] as const;
