import type { ScheduleCalendar } from "../../../src/api/api-messages.ts";
import { within } from "../../api/api-client.ts";
import { useRead } from "../../api/reads.ts";
import { Answer, Empty } from "../../components/answers.tsx";
import { Button, IconButton, Segments } from "../../components/button.tsx";
import { Icon } from "../../components/icon.tsx";
import { Panel } from "../../components/page.tsx";
import { Status, StatusGlyph } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { useNow, useZone } from "../../components/time-settings.tsx";
import { PageLink } from "../../links.tsx";
import { useSearchState } from "../../search-state.ts";
import { safeLine } from "../../text/safe-text.ts";
import { ianaOf } from "../../text/time-text.ts";
import { type CalendarDay, calendarOf, describeDay, OUTCOMES, spanOf } from "./schedule-calendar.ts";
import { OUTCOME_SHAPES } from "./schedule-mark.tsx";
import styles from "./schedules.module.css";
import { clockIn, describeClockChange, isMonth, isZone, monthIn, monthPlus } from "./zone-days.ts";

const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });
const DAY = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long", timeZone: "UTC" });

/** Past outcomes and coming times, day by day. Days are those of the schedule's own zone, unless one chooses another. */
export function CalendarPanel({ id, timezone }: { readonly id: string; readonly timezone: string }) {
  const [search, setSearch] = useSearchState();
  const own = ianaOf(useZone().zone);
  const now = useNow();
  const scheduled = isZone(timezone) ? timezone : "UTC";
  const zone = search["zone"] === "mine" ? own : scheduled;
  const today = monthIn(zone, now);
  const month = isMonth(search["month"] ?? "") ? (search["month"] as string) : today;
  const read = useRead<ScheduleCalendar>(
    within("schedules", id, "calendar"),
    { ...spanOf(month, zone) },
    { live: ["schedules"], everyMs: 30_000 },
  );
  const go = (to: string) => setSearch({ month: to === today ? undefined : to, day: undefined });
  const bar = (
    <>
      <h2>Calendar</h2>
      <IconButton label="Month before" icon="left" onClick={() => go(monthPlus(month, -1))} />
      <span className={styles.month} aria-live="polite">
        {MONTH.format(Date.parse(`${month}-01`))}
      </span>
      <IconButton label="Month after" icon="right" onClick={() => go(monthPlus(month, 1))} />
      {month === today ? null : (
        <Button small onClick={() => go(today)}>
          This month
        </Button>
      )}
      {own === scheduled ? (
        <span className="faint">{safeLine(zone)}</span>
      ) : (
        <Segments
          label="Days of which zone"
          value={search["zone"] === "mine" ? "mine" : "own"}
          options={[
            { value: "own", label: safeLine(scheduled) },
            { value: "mine", label: safeLine(own) },
          ]}
          onChange={(value) => setSearch({ zone: value === "mine" ? "mine" : undefined, day: undefined })}
        />
      )}
    </>
  );
  return (
    <Panel label="Calendar" actions={bar}>
      <Answer read={read}>
        {({ times, capped }) => (
          <Month
            weeks={calendarOf({ month, zone, now, times, capped })}
            zone={zone}
            selected={search["day"]}
            onSelect={(day) => setSearch({ day }, { replace: true })}
          />
        )}
      </Answer>
      <Legend />
    </Panel>
  );
}

interface MonthProps {
  readonly weeks: readonly (readonly CalendarDay[])[];
  readonly zone: string;
  readonly selected: string | undefined;
  readonly onSelect: (day: string | undefined) => void;
}

function Month({ weeks, zone, selected, onSelect }: MonthProps) {
  const chosen = weeks.flat().find(({ date }) => date === selected);
  return (
    <>
      <table className={styles.calendar} aria-label="Calendar">
        <thead>
          <tr>
            {WEEKDAYS.map((day) => (
              <th key={day} scope="col">
                {day}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeks.map((week) => (
            <tr key={week[0]?.date}>
              {week.map((day) => (
                <td
                  key={day.date}
                  className={`${day.inMonth ? "" : styles.outside} ${day.isToday ? styles.today : ""}`}
                >
                  <DayButton day={day} pressed={day.date === selected} onSelect={onSelect} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {chosen ? <DayTimes day={chosen} zone={zone} /> : null}
    </>
  );
}

interface DayButtonProps {
  readonly day: CalendarDay;
  readonly pressed: boolean;
  readonly onSelect: (day: string | undefined) => void;
}

function DayButton({ day, pressed, onSelect }: DayButtonProps) {
  const { date, clockChange, isToday } = day;
  const words = [
    `${DAY.format(Date.parse(date))}${isToday ? ", today" : ""}: ${describeDay(day)}`,
    ...(clockChange ? [describeClockChange(clockChange)] : []),
  ].join(". ");
  return (
    <button
      type="button"
      className={styles.day}
      aria-pressed={pressed}
      title={clockChange ? describeClockChange(clockChange) : undefined}
      onClick={() => onSelect(pressed ? undefined : date)}
    >
      <span className="vh">{words}</span>
      <span className={styles.date} aria-hidden="true">
        <b>{day.day}</b>
        {clockChange ? (
          <span className={styles.change}>
            <Icon name="clock" size="small" />
            <span>{(day.endMs - day.startMs) / 3_600_000} h</span>
          </span>
        ) : null}
      </span>
      <span className={styles.marks} aria-hidden="true">
        {OUTCOMES.map((outcome) => {
          const count = day.counts[outcome];
          return count === undefined ? null : (
            <Mark key={outcome} what={outcome} text={count === 1 ? "" : String(count)} />
          );
        })}
        {day.coming.length > 0 ? (
          <Mark
            what="coming"
            text={day.coming.length === 1 && !day.more ? "" : `${day.coming.length}${day.more ? "+" : ""}`}
          />
        ) : null}
      </span>
    </button>
  );
}

function Mark({ what, text }: { readonly what: keyof typeof OUTCOME_SHAPES; readonly text: string }) {
  return (
    <span className={styles.mark}>
      <StatusGlyph value={OUTCOME_SHAPES[what]} hidden />
      {text}
    </span>
  );
}

/** All times of one day, each with its run. */
function DayTimes({ day, zone }: { readonly day: CalendarDay; readonly zone: string }) {
  const { past, coming, clockChange, date, more } = day;
  return (
    <section aria-label={`Times of ${DAY.format(Date.parse(date))}`}>
      <div className={styles.legend}>
        <strong>{DAY.format(Date.parse(date))}</strong>
        {clockChange ? <span>{describeClockChange(clockChange)}</span> : null}
      </div>
      {past.length + coming.length === 0 ? (
        <Empty title={more ? "Too far ahead to list" : "It is not due on this day"} />
      ) : (
        <ol className={styles.times}>
          {past.map(({ at, outcome, runId }) => (
            <li key={at}>
              <strong>{clockIn(zone, at)}</strong>
              <Status value={OUTCOME_SHAPES[outcome]} word={outcome} />
              <span className="faint">
                <Time at={at} />
              </span>
              {runId === null ? (
                <span />
              ) : (
                <PageLink page="runs" item={runId}>
                  Open run
                </PageLink>
              )}
            </li>
          ))}
          {coming.map((at) => (
            <li key={at}>
              <strong>{clockIn(zone, at)}</strong>
              <Status value="pending" word="to come" />
              <span className="faint">
                <Time at={at} />
              </span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function Legend() {
  return (
    <div className={styles.legend}>
      {OUTCOMES.map((outcome) => (
        <Status key={outcome} value={OUTCOME_SHAPES[outcome]} word={outcome} />
      ))}
      <Status value="pending" word="to come" />
      <span className={styles.change}>
        <Icon name="clock" size="small" /> clocks change
      </span>
    </div>
  );
}
