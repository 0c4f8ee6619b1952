// A year of schedules in virtual time, with a leader that dies again and again. What should be fired is computed here, from the
// offsets that Intl reports, without any code of the calendar.
import { expect, test } from "vitest";
import { nextAfter, readSpec } from "../../src/calendar/index.ts";
import { StoreTime } from "../../src/calls/store-time.ts";
import { Leader } from "../../src/engine/lead/leader.ts";
import { MemoryNotifier } from "../../src/memory/notifier.ts";
import { MemoryStore } from "../../src/memory/store.ts";
import type { ScheduleDefinition } from "../../src/model/schedule.ts";
import { silentLogger } from "../../src/ports/logger.ts";
import type { PutSchedulesParams, PutSchedulesResult } from "../../src/ports/store.ts";
import { hookedStore } from "../../src/ports/store-calls.ts";
import { MortalLife } from "../../src/testing/mortal.ts";
import { SeededSource } from "../../src/testing/seeded-source.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

const ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"];
const FROM = Date.UTC(2026, 0, 1, 0, 0);
const TO = Date.UTC(2027, 0, 1, 0, 0);
const MINUTE = 60_000;
const QUARTER = 15 * MINUTE;
const CRASHES = 50;

/** Local time minus UTC in each quarter of an hour, as Intl says. */
function offsets(timeZone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  });
  const known = new Map<number, number>();
  return (at) => {
    const quarter = Math.floor(at / QUARTER) * QUARTER;
    const offset = known.get(quarter);
    if (offset !== undefined) return offset;
    const parts = Object.fromEntries(format.formatToParts(quarter).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0 } = parts;
    const found = Date.UTC(year, month - 1, day, hour, minute) - quarter;
    known.set(quarter, found);
    return found;
  };
}

/** Every minute of the year: the times of a five-minute cron, and of one at 02:30 (once a day: the first that is not before it). */
function independent(timeZone: string): {
  readonly five: number[];
  readonly daily: number[];
  readonly changes: number;
} {
  const offsetAt = offsets(timeZone);
  const five: number[] = [];
  const daily: number[] = [];
  let changes = 0;
  // The day on which the year begins has had its time before, unless it is yet to come.
  let done = "";
  for (let at = FROM - 24 * 60 * MINUTE; at <= TO; at += MINUTE) {
    const offset = offsetAt(at);
    const local = new Date(at + offset);
    if (at > FROM && offset !== offsetAt(at - MINUTE)) changes += 1;
    if (at > FROM && local.getUTCMinutes() % 5 === 0) five.push(at);
    const day = local.toISOString().slice(0, 10);
    if (day === done || local.getUTCHours() * 60 + local.getUTCMinutes() < 150) continue;
    done = day;
    if (at > FROM) daily.push(at);
  }
  return { five, daily, changes };
}

function definition(cron: string, timezone: string): ScheduleDefinition {
  return {
    spec: readSpec({ cron, timezone }),
    workflow: "job",
    version: null,
    fallbackVersion: "1",
    queue: "default",
    priority: 0,
    attributes: {},
    timeoutMs: null,
    overlap: "allow",
    catchUpMax: 100,
    catchUpWindowMs: null,
    paused: false,
    note: null,
    by: null,
  };
}

test("a year of a five-minute and of a daily 02:30 schedule fires exactly as an independent calculation says, in three time zones, across six clock changes and 50 crashes of the leader", async () => {
  const clock = new VirtualClock(FROM);
  const notifier = new MemoryNotifier(clock);
  const memory = new MemoryStore({ clock, notifier });
  const fired = new Map<string, number[]>();
  const state = { lastAt: null, openId: null, buffered: [], waits: "no", failures: 0, lastError: null } as const;
  const random = new SeededSource(7);
  const schedules = ZONES.flatMap((zone) => [
    { id: `five ${zone}`, definition: definition("*/5 * * * *", zone) },
    { id: `daily ${zone}`, definition: definition("30 2 * * *", zone) },
  ]);
  await memory.schedules.putIfRevision({
    puts: schedules.map(({ id, definition: one }, i) => ({
      namespace: "default",
      id,
      revision: null,
      next: `00000000-0000-7000-8000-00000000000${i}`,
      definition: one,
      input: new Uint8Array(0),
      state: { ...state, nextAt: nextAfter(one.spec, FROM) },
      decided: [],
      starts: [],
    })),
    announce: false,
  });
  const { runs, byId, queued } = memory.state;
  // What the store has made of a put, whoever learns of it.
  const watched = hookedStore(memory, {
    "schedules.putIfRevision": async (params: PutSchedulesParams, call): Promise<PutSchedulesResult> => {
      const before = runs.size;
      const result = await call();
      let started = 0;
      result.outcomes.forEach(({ outcome }, i) => {
        const put = params.puts[i];
        if (!put || outcome !== "written") return;
        for (const { run } of put.starts) {
          started += 1;
          const at = Date.parse(String(run.attributes["holdfast.scheduledAt"]));
          const known = fired.get(put.id);
          if (known) known.push(at);
          else fired.set(put.id, [at]);
        }
      });
      expect(runs.size - before).toBe(started);
      // A year of runs would not fit.
      for (const map of [runs, byId]) map.clear();
      queued.clear();
      return result;
    },
  });
  let crashes = 0;
  while (clock.now() < TO) {
    const life = new MortalLife();
    const leader = new Leader({
      clock: life.clock(clock),
      random,
      store: life.store(watched),
      storeTime: new StoreTime(life.clock(clock)),
      log: silentLogger,
      onOwing: () => {},
      beat: () => {},
      coordinates: true,
    });
    leader.start();
    leader.told({ nextAt: null, waiting: false, retains: false });
    // It dies in one of the calls that it makes some days later: before it takes effect, or after.
    const diesAt = FROM + ((crashes + 1) * (TO - FROM)) / (CRASHES + 1);
    let left = 1 + Math.floor(random.next() * 7);
    life.diesAt = () => crashes < CRASHES && clock.now() >= diesAt && --left <= 0;
    while (!life.dead && clock.now() < TO)
      await clock.advance({ milliseconds: Math.min(TO - clock.now(), 60 * MINUTE) });
    await leader.stop();
    if (!life.dead) break;
    crashes += 1;
    // Until another one leads, time passes.
    await clock.advance({ milliseconds: Math.floor(random.next() * 3 * 60 * MINUTE) });
  }
  await clock.settle();
  expect(crashes).toBe(CRASHES);
  let changes = 0;
  for (const zone of ZONES) {
    const expected = independent(zone);
    changes += expected.changes;
    expect(fired.get(`five ${zone}`)).toEqual(expected.five);
    expect(fired.get(`daily ${zone}`)).toEqual(expected.daily);
  }
  expect(changes).toBe(6);
}, 120_000);
