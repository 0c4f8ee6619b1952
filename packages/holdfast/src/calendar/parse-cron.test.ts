import { describe, expect, it } from "vitest";
import { CronFault, parseCron } from "./parse-cron.ts";

describe("an expression", () => {
  it("has five fields, or six with the seconds first", () => {
    expect(parseCron("1 2 3 4 5")).toMatchObject({ seconds: [0], minutes: [1], hours: [2], months: [4] });
    expect(parseCron(" 59  1 2\t3 4 5 ")).toMatchObject({ seconds: [59], minutes: [1], hours: [2], months: [4] });
  });

  it.each([
    ["*/20", [0, 20, 40]],
    ["5-9/2", [5, 7, 9]],
    ["3,1,2,3,1-2", [1, 2, 3]],
    ["07", [7]],
    ["*/60", [0]],
    ["?/30", [0, 30]],
  ])("with the minutes %s has %j", (field, minutes) => {
    expect(parseCron(`${field} * * * *`).minutes).toEqual(minutes);
  });

  it.each([
    ["0 0 * jan,Feb-APR *", [1, 2, 3, 4]],
    ["0 0 * */4 *", [1, 5, 9]],
  ])("%s has the months %j", (text, months) => {
    expect(parseCron(text).months).toEqual(months);
  });

  it.each([
    ["MON-FRI", [1, 2, 3, 4, 5]],
    ["fri-sun", [0, 5, 6]],
    ["5-7", [0, 5, 6]],
    ["7-2", [0, 1, 2]],
    ["7", [0]],
    ["0-0", [0]],
    ["0-7", [0, 1, 2, 3, 4, 5, 6]],
    ["*/2", [0, 2, 4, 6]],
  ])("with the weekdays %s has %j", (field, weekdays) => {
    const { weeks } = parseCron(`0 0 * * ${field}`).weekdays;
    expect([0, 1, 2, 3, 4, 5, 6].filter((day) => weeks[day] === 0b11111)).toEqual(weekdays);
  });

  it.each([
    ["@yearly", "0 0 1 1 *"],
    ["@annually", "0 0 1 1 *"],
    ["@monthly", "0 0 1 * *"],
    ["@weekly", "0 0 * * SUN"],
    ["@Daily", "0 0 * * *"],
    ["@midnight", "0 0 * * *"],
    [" @hourly ", "0 * * * *"],
  ])("%s is %s", (nickname, text) => {
    expect(parseCron(nickname)).toEqual(parseCron(text));
  });
});

describe("a refused expression says where the fault is", () => {
  it.each([
    ["", 0, "there are 0 fields instead of 5 or 6"],
    ["   ", 0, "there are 0 fields"],
    ["0 2 * *", 7, "there are 4 fields"],
    ["0 0 2 * * * 2026", 12, "there are 7 fields"],
    ["60 * * * *", 0, '"60" is not a minute: 0 to 59'],
    ["60 * * * * *", 0, '"60" is not a second: 0 to 59'],
    ["0 24 * * *", 2, '"24" is not an hour: 0 to 23'],
    ["0 1,25 * * *", 4, '"25" is not an hour'],
    ["0 0 0 * *", 4, '"0" is not a day of the month: 1 to 31'],
    ["0 0 32 * *", 4, '"32" is not a day of the month'],
    ["0 0 * 13 *", 6, '"13" is not a month: 1 to 12 or JAN to DEC'],
    ["0 0 * JANUARY *", 6, '"JANUARY" is not a month'],
    ["0 0 * * 8", 8, '"8" is not a day of the week: 0 to 7 or SUN to SAT'],
    ["0 0 * * L", 8, '"L" is not a day of the week'],
    ["0 0 * * MON,FOO", 12, '"FOO" is not a day of the week'],
    ["0 0 * * +FOO", 9, '"FOO" is not a day of the week'],
    ["0 0 * * FRI#6", 12, '"6" is not one of 1 to 5 or L'],
    ["0 0 * * MON#1,FRI#0", 18, '"0" is not one of 1 to 5 or L'],
    ["0 0 * * *#2", 8, '"*#2" needs a day of the week'],
    ["0 0 * * FRI-MON", 8, 'the range "FRI-MON" goes backward; write 5-6,0-1'],
    ["0 22-2 * * *", 2, 'the range "22-2" goes backward; write 22-23,0-2'],
    ["0 23-0 * * *", 2, "write 23,0"],
    ["*/0 * * * *", 2, 'the step "0" is not a whole number from 1 to 60'],
    ["*/61 * * * *", 2, 'the step "61" is not'],
    ["*/ * * * *", 2, 'there is nothing after "/": the step is a whole number from 1 to 60'],
    ["1-5/x * * * *", 4, 'the step "x" is not'],
    ["5/15 * * * *", 0, '"5/15" has a step but no range; write 5-59/15'],
    ["1,,2 * * * *", 2, "there is nothing where a minute should be"],
    ["1, * * * *", 2, "there is nothing"],
    ["-5 * * * *", 0, 'there is nothing before "-", where a minute should be'],
    ["1- * * * *", 2, 'there is nothing after "-", where a minute should be'],
    ["/5 * * * *", 0, '"/5" has a step but no range; write */5'],
    ["0 0 W * *", 4, 'there is nothing before "W", where a day of the month should be, as in 15W'],
    ["0 0 * * #2", 8, 'there is nothing before "#", where a day of the week should be, as in FRI#2'],
    ["0 0 * * FRI#", 12, 'there is nothing after "#": 1 to 5 or L say which one of the month, as in FRI#2'],
    ["0 0 * * +", 9, 'there is nothing after "+", where a day of the week should be'],
    ["0 0 L-3 * *", 4, '"L-3": days before the last one are not supported; L is the last day of the month'],
    ["TZ=Europe/Berlin 0 2 * * *", 0, 'leave "TZ=Europe/Berlin" out; the zone is an option: timezone: "Europe/Berlin"'],
    ["CRON_TZ=UTC 0 2 * * *", 0, 'leave "CRON_TZ=UTC" out; the zone is an option: timezone: "UTC"'],
    ["TZ=UTC @daily", 0, 'leave "TZ=UTC" out'],
    ["1-2-3 * * * *", 2, '"2-3" is not a minute'],
    ["1.5 * * * *", 0, '"1.5" is not a minute'],
    ["0 0 40W * *", 4, '"40" is not a day of the month'],
    ["0 0 1-5W * *", 4, '"1-5" is not a day of the month'],
    ["0 0 15L * *", 4, '"15L" is not a day of the month'],
    ["0 L * * *", 2, '"L" is not an hour'],
    [" @often", 1, '"@often" is unknown; there are @yearly'],
    ["@reboot", 0, '"@reboot" is unknown'],
    ["@constructor", 0, "is unknown"],
    ["@daily * ", 7, 'nothing may follow "@daily"'],
  ])("%j, at %i: %s", (text, position, message) => {
    const fault = faultOf(text);
    expect(fault.message).toContain(message);
    expect(fault.position).toBe(position);
  });
});

function faultOf(text: string): CronFault {
  try {
    parseCron(text);
  } catch (error) {
    if (error instanceof CronFault) return error;
  }
  throw new Error(`${text} was accepted`);
}
