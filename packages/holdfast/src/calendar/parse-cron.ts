/**
 * Reads cron expressions: five fields, or six with the seconds first, in the notation of Vixie cron with the usual
 * additions (`L`, `W`, `#`, `?`, `+`). docs/guide/schedules.md is its manual.
 *
 * This is our own parser because a refusal has to say where in the text the fault is, and because the rest (which day
 * matches, what happens when clocks change) has to be decided here in any case.
 */

/** What an expression says. Numbers are ascending, each once. */
export interface Cron {
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /** 1 to 12 */
  readonly months: readonly number[];
  readonly monthDays: MonthDays;
  readonly weekdays: Weekdays;
  /** The day must match both fields of days, not one of them: the weekdays begin with `+`. */
  readonly bothDays: boolean;
}

/** The field for days of the month. */
export interface MonthDays {
  /** The field is `*`: it does not restrict the days. */
  readonly any: boolean;
  readonly days: readonly number[];
  /** `15W`: the days whose nearest weekday, Monday to Friday of the same month, is meant. */
  readonly nearest: readonly number[];
  /** `L` */
  readonly last: boolean;
  /** `LW` */
  readonly lastWorkday: boolean;
}

/** The field for days of the week. */
export interface Weekdays {
  /** The field is `*`: it does not restrict the days. */
  readonly any: boolean;
  /** For each weekday from Sunday on: in which weeks of the month; a bit for each of the first to the fifth, and `LAST_WEEK`. */
  readonly weeks: readonly number[];
}

/** The bit of `FRI#L`: the last one of the month. */
export const LAST_WEEK = 1 << 5;
const EVERY_WEEK = LAST_WEEK - 1;

/** Why a text is not a cron expression, and where: a position in the text, counted from 0. */
export class CronFault extends Error {
  readonly position: number;

  constructor(position: number, message: string) {
    super(message);
    this.position = position;
  }
}

const NICKNAMES: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

interface Field {
  readonly named: string;
  readonly min: number;
  readonly max: number;
  /** In the order of their numbers, beginning with `min`. */
  readonly names?: readonly string[];
}

const SECOND: Field = { named: "a second", min: 0, max: 59 };
const MINUTE: Field = { named: "a minute", min: 0, max: 59 };
const HOUR: Field = { named: "an hour", min: 0, max: 23 };
const MONTH_DAY: Field = { named: "a day of the month", min: 1, max: 31 };
const MONTH: Field = {
  named: "a month",
  min: 1,
  max: 12,
  names: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
};
/** 7 is Sunday, too. */
const WEEKDAY: Field = {
  named: "a day of the week",
  min: 0,
  max: 7,
  names: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
};

/** A part of the text, and where it begins. */
interface Piece {
  readonly text: string;
  readonly position: number;
}

/** Throws a `CronFault`. */
export function parseCron(text: string): Cron {
  const pieces = Array.from(text.matchAll(/\S+/g), (match) => ({ text: match[0], position: match.index }));
  const zone = /^(?:CRON_)?TZ=(.*)$/i.exec(pieces[0]?.text ?? "");
  if (zone)
    throw new CronFault(
      pieces[0]?.position ?? 0,
      `leave "${zone[0]}" out; the zone is an option: timezone: "${zone[1]}"`,
    );
  const nickname = pieces[0]?.text.startsWith("@") === true ? pieces[0] : undefined;
  if (nickname !== undefined) return parseNickname(nickname, pieces[1]);
  if (pieces.length === 5) pieces.unshift({ text: "0", position: 0 });
  const [second, minute, hour, monthDay, month, weekday, more] = pieces;
  if (!second || !minute || !hour || !monthDay || !month || !weekday || more) {
    const position = more?.position ?? text.trimEnd().length;
    const fields = "minute, hour, day of the month, month, day of the week, and optionally the second before them";
    throw new CronFault(position, `there are ${pieces.length} fields instead of 5 or 6: ${fields}`);
  }
  const bothDays = weekday.text.startsWith("+");
  if (weekday.text === "+") throw nothing(rest(weekday, 1), 'after "+"', WEEKDAY);
  return {
    seconds: numbersOf(second, SECOND),
    minutes: numbersOf(minute, MINUTE),
    hours: numbersOf(hour, HOUR),
    months: numbersOf(month, MONTH),
    monthDays: monthDaysOf(monthDay),
    weekdays: weekdaysOf(bothDays ? rest(weekday, 1) : weekday),
    bothDays,
  };
}

function parseNickname(nickname: Piece, more: Piece | undefined): Cron {
  const meaning = NICKNAMES[nickname.text.toLowerCase()];
  if (meaning === undefined) {
    const known = Object.keys(NICKNAMES).join(", ");
    throw new CronFault(nickname.position, `"${nickname.text}" is unknown; there are ${known}`);
  }
  if (more !== undefined) throw new CronFault(more.position, `nothing may follow "${nickname.text}"`);
  return parseCron(meaning);
}

function monthDaysOf(piece: Piece): MonthDays {
  const days: number[] = [];
  const nearest: number[] = [];
  let last = false;
  let lastWorkday = false;
  for (const item of itemsOf(piece, MONTH_DAY)) {
    const upper = item.text.toUpperCase();
    if (upper === "L") last = true;
    else if (upper === "LW") lastWorkday = true;
    else if (upper === "W") throw nothing(item, 'before "W"', MONTH_DAY, ", as in 15W");
    else if (upper.endsWith("W")) nearest.push(numberOf({ ...item, text: item.text.slice(0, -1) }, MONTH_DAY));
    else if (/^L-\d/.test(upper)) throw fromLast(item);
    else days.push(...rangeOf(item, MONTH_DAY));
  }
  return { any: isAny(piece.text), days: ascending(days), nearest: ascending(nearest), last, lastWorkday };
}

function fromLast({ text, position }: Piece): CronFault {
  const known = "L is the last day of the month, LW its last workday";
  return new CronFault(position, `"${text}": days before the last one are not supported; ${known}`);
}

function nothing({ position }: Piece, where: string, field: Field, example = ""): CronFault {
  return new CronFault(position, `there is nothing ${where}, where ${field.named} should be${example}`);
}

function weekdaysOf(piece: Piece): Weekdays {
  const weeks = [0, 0, 0, 0, 0, 0, 0];
  for (const item of itemsOf(piece, WEEKDAY)) {
    const { days, which } = splitWeekday(item);
    const bits = which === undefined ? EVERY_WEEK : weekBit(which);
    for (const day of rangeOf(days, WEEKDAY)) weeks[day % 7] = (weeks[day % 7] ?? 0) | bits;
  }
  return { any: isAny(piece.text), weeks };
}

/** `FRI#2`, `FRI#L` and `FRIL`: days, and which of them in the month. */
function splitWeekday(item: Piece): { days: Piece; which?: Piece } {
  const hash = item.text.indexOf("#");
  const end = hash !== -1 ? hash : /.L$/i.test(item.text) ? item.text.length - 1 : -1;
  if (end === -1) return { days: item };
  if (end === 0) throw nothing(item, 'before "#"', WEEKDAY, ", as in FRI#2");
  const days = { ...item, text: item.text.slice(0, end) };
  if (isAny(days.text)) throw new CronFault(item.position, `"${item.text}" needs a day of the week, as in FRI#2`);
  return { days, which: rest(item, hash === -1 ? end : end + 1) };
}

function weekBit({ text, position }: Piece): number {
  if (text.toUpperCase() === "L") return LAST_WEEK;
  if (/^[1-5]$/.test(text)) return 1 << (Number(text) - 1);
  if (text === "")
    throw new CronFault(position, 'there is nothing after "#": 1 to 5 or L say which one of the month, as in FRI#2');
  throw new CronFault(position, `"${text}" is not one of 1 to 5 or L, which say which one of the month, as in FRI#2`);
}

function numbersOf(piece: Piece, field: Field): number[] {
  return ascending(itemsOf(piece, field).flatMap((item) => rangeOf(item, field)));
}

/** What the commas of a field separate. */
function itemsOf(piece: Piece, field: Field): Piece[] {
  const items: Piece[] = [];
  let position = piece.position;
  for (const text of piece.text.split(",")) {
    if (text === "") throw new CronFault(position, `there is nothing where ${field.named} should be`);
    items.push({ text, position });
    position += text.length + 1;
  }
  return items;
}

/** `*`, `5`, `1-5`, `*` with a step, `1-5/2`. */
function rangeOf(item: Piece, field: Field): number[] {
  const slash = item.text.indexOf("/");
  if (slash === 0) throw new CronFault(item.position, `"${item.text}" has a step but no range; write *${item.text}`);
  const range = slash === -1 ? item : { ...item, text: item.text.slice(0, slash) };
  const step = slash === -1 ? 1 : stepOf(rest(item, slash + 1), field);
  const dash = range.text.indexOf("-");
  let from = field.min;
  let to = field === WEEKDAY ? 6 : field.max;
  if (dash === 0) throw nothing(range, 'before "-"', field);
  if (dash !== -1) {
    if (dash === range.text.length - 1) throw nothing(rest(range, dash + 1), 'after "-"', field);
    from = numberOf({ ...range, text: range.text.slice(0, dash) }, field);
    to = numberOf(rest(range, dash + 1), field);
    if (field === WEEKDAY && from > 0 && to === 0) to = 7; // FRI-SUN
    if (field === WEEKDAY && from === 7 && to < 7) from = 0; // 7-2
    if (to < from) throw backward(range, field, from, to);
  } else if (!isAny(range.text)) {
    from = numberOf(range, field);
    to = from;
    if (slash !== -1) {
      const advice = `write ${from}-${field.max}${item.text.slice(slash)}`;
      throw new CronFault(item.position, `"${item.text}" has a step but no range; ${advice}`);
    }
  }
  const numbers: number[] = [];
  for (let number = from; number <= to; number += step) numbers.push(number);
  return numbers;
}

function backward(range: Piece, field: Field, from: number, to: number): CronFault {
  const last = field === WEEKDAY ? 6 : field.max;
  const part = (a: number, b: number) => (a === b ? `${a}` : `${a}-${b}`);
  const advice = `write ${part(from, last)},${part(field.min, to)}`;
  return new CronFault(range.position, `the range "${range.text}" goes backward; ${advice}`);
}

function stepOf({ text, position }: Piece, field: Field): number {
  const step = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  const most = field.max - field.min + (field === WEEKDAY ? 0 : 1);
  if (step >= 1 && step <= most) return step;
  if (text === "")
    throw new CronFault(position, `there is nothing after "/": the step is a whole number from 1 to ${most}`);
  throw new CronFault(position, `the step "${text}" is not a whole number from 1 to ${most}`);
}

function numberOf({ text, position }: Piece, field: Field): number {
  const named = field.names?.indexOf(text.toUpperCase()) ?? -1;
  if (named !== -1) return field.min + named;
  const number = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= field.min && number <= field.max) return number;
  const names = field.names === undefined ? "" : ` or ${field.names[0]} to ${field.names.at(-1)}`;
  throw new CronFault(position, `"${text}" is not ${field.named}: ${field.min} to ${field.max}${names}`);
}

/** `?` is what other notations write for `*` in a field of days. */
function isAny(text: string): boolean {
  return text === "*" || text === "?";
}

function rest(piece: Piece, from: number): Piece {
  return { text: piece.text.slice(from), position: piece.position + from };
}

function ascending(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((a, b) => a - b);
}
