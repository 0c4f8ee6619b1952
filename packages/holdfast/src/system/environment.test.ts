import { expect, test } from "vitest";
import { hostOf, systemEnvironment } from "./environment.ts";

test("a host is told from a container of the same name, because their process ids mean different processes", () => {
  expect(hostOf("web-1", undefined)).toBe("web-1");
  expect(hostOf("web-1", "pid:[4026531836]")).toBe("web-1");
  expect(hostOf("web-1", "pid:[4026532201]")).toBe("web-1/pid:[4026532201]");
  expect(hostOf("web-1", "pid:[4026532201]")).not.toBe(hostOf("web-1", "pid:[4026532202]"));
});

test("a process that lives is not gone", () => {
  expect(systemEnvironment.isGone(process.pid)).toBe(false);
  expect(systemEnvironment.isGone(process.ppid)).toBe(false);
});
