import { expect, test } from "vitest";
import { readCommandLine } from "./command-line.ts";

const read = (...args: string[]) => readCommandLine(args, 99);

test("without arguments it is five minutes on a server of its own", () => {
  expect(read()).toEqual({ url: null, minutes: 5, workers: 4, seed: 99, only: undefined, json: false, keep: false });
});

test("everything can be said otherwise", () => {
  const args = ["file:app.db", "--minutes", "0.5", "--workers=8", "--seed", "7", "--only=tasks", "--json", "--keep"];
  const said = { url: "file:app.db", minutes: 0.5, workers: 8, seed: 7, only: "tasks", json: true, keep: true };
  expect(read(...args)).toEqual(said);
});

test("two workers that reach for each other are watched for a minute", () => {
  expect(read("--only", "mutual")).toMatchObject({ url: null, minutes: 1, only: "mutual" });
});

test("schedules are tortured apart, on any store", () => {
  expect(read("sqlite", "--only", "schedules")).toMatchObject({ url: "sqlite", minutes: 5, only: "schedules" });
});

test("help is help, whatever else is there", () => {
  expect(read("--help")).toBe("help");
  expect(read("-h", "--minutes", "nonsense")).toBe("help");
});

test.each([
  [["--minutes", "soon"], '--minutes is "soon"; it must be a number from 0.1 to 10000'],
  [["--minutes", ""], '--minutes is ""'],
  [["--workers", "1"], '--workers is "1"; it must be a whole number from 2 to 64'],
  [["--workers", "2.5"], '--workers is "2.5"'],
  [["--only", "steps"], '--only is "steps"; it must be one of tasks, conversations, schedules, mutual, moves'],
  [["sqlite", "--only", "mutual"], "--only mutual is about the locks of PostgreSQL"],
  [["sqlite", "--only", "moves"], "--only moves is between SQLite and PostgreSQL"],
  [["--sead", "1"], "Unknown option '--sead'"],
  [["file:a", "file:b"], "pass one URL, not 2"],
])("%s is refused, and it says why", (args, why) => {
  expect(() => read(...args)).toThrow(why);
});

test("an address that is not understood is not repeated: it may hold a password", () => {
  expect(() => read("mysql://me:secret@host/db")).toThrow(/^(?!.*secret).*postgres:\/\//s);
});
