// Times as people read them, in the zone that they chose. The machine-readable form is in the datetime attribute.

/** "UTC", "local", or a name of the IANA database. */
export type Zone = string;

/** "full": 15 Nov 14:02:10; "precise": with milliseconds; "clock": the time of day alone; "day": 15 Nov 2026. */
export type TimeForm = "full" | "precise" | "clock" | "preciseClock" | "short" | "dayAndHour" | "day";

const CLOCK: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const DAY: Intl.DateTimeFormatOptions = { day: "numeric", month: "short" };
const FORMS: Readonly<Record<TimeForm, Intl.DateTimeFormatOptions>> = {
  full: { ...DAY, ...CLOCK },
  precise: { ...DAY, ...CLOCK, fractionalSecondDigits: 3 },
  clock: CLOCK,
  preciseClock: { ...CLOCK, fractionalSecondDigits: 3 },
  short: { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  dayAndHour: { ...DAY, hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  day: { ...DAY, year: "numeric" },
};

const formats = new Map<string, Intl.DateTimeFormat>();

export function timeText(at: number, zone: Zone, form: TimeForm = "full"): string {
  if (!Number.isFinite(at) || Math.abs(at) > 8.64e15) return "–";
  return formatOf(zone, form).format(at).replace(",", "");
}

/** What is to be added to UTC to get what clocks in the zone show then. */
export function zoneOffsetMs(at: number, zone: Zone): number {
  const match = /GMT([+-])(\d+)(?::(\d+))?/.exec(offsetText(at, zone));
  if (match === null) return 0;
  const minutes = Number(match[2]) * 60 + Number(match[3] ?? 0);
  return (match[1] === "-" ? -minutes : minutes) * 60_000;
}

/** The offset of the zone at that time, for the title of a time: "GMT+1". */
export function offsetText(at: number, zone: Zone): string {
  const format = new Intl.DateTimeFormat("en-GB", { timeZone: ianaOf(zone), timeZoneName: "shortOffset" });
  return format.formatToParts(at).find((part) => part.type === "timeZoneName")?.value ?? "UTC";
}

export function ianaOf(zone: Zone): string {
  return zone === "local" ? Intl.DateTimeFormat().resolvedOptions().timeZone : zone;
}

/** False for a name that this browser does not know. */
export function isZone(zone: string): boolean {
  if (zone === "local") return true;
  try {
    new Intl.DateTimeFormat("en-GB", { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

function formatOf(zone: Zone, form: TimeForm): Intl.DateTimeFormat {
  const key = `${zone} ${form}`;
  const known = formats.get(key);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat("en-GB", { ...FORMS[form], timeZone: ianaOf(zone) });
  formats.set(key, format);
  return format;
}
