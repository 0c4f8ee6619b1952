/** Processor time and memory of processes, from /proc; zero or undefined on systems without it. */
import { readdirSync, readFileSync } from "node:fs";

const TICKS_PER_SECOND = 100;

interface Stat {
  readonly parent: number;
  readonly cpuSeconds: number;
}

/** Seconds that a process and all its descendants have used. */
export function treeCpuSeconds(root: number): number {
  const children = new Map<number, number[]>();
  const stats = new Map<number, Stat>();
  for (const entry of folders("/proc")) {
    const stat = statOf(entry);
    if (!stat) continue;
    stats.set(Number(entry), stat);
    children.set(stat.parent, [...(children.get(stat.parent) ?? []), Number(entry)]);
  }
  const sum = (pid: number): number =>
    (stats.get(pid)?.cpuSeconds ?? 0) + (children.get(pid) ?? []).reduce((total, child) => total + sum(child), 0);
  return sum(root);
}

/** Seconds that all cores together were busy, including time stolen by the host. */
export function machineCpuSeconds(): number {
  const fields = (text("/proc/stat")?.split("\n")[0] ?? "").trim().split(/\s+/).slice(1).map(Number);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = fields;
  return (user + nice + system + irq + softirq + steal) / TICKS_PER_SECOND;
}

export function parentOf(pid: number): number | undefined {
  return statOf(String(pid))?.parent;
}

/** Bytes that the process passed to write calls. */
export function writtenBytes(pid: number): number {
  return Number(/^wchar: (\d+)/m.exec(text(`/proc/${pid}/io`) ?? "")?.[1] ?? 0);
}

function statOf(pid: string): Stat | undefined {
  const line = text(`/proc/${pid}/stat`);
  if (line === undefined) return undefined;
  // After the name in parentheses: state, parent, …, user and system time, and the same for children that have ended.
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0);
  return { parent: Number(fields[1]), cpuSeconds: ticks / TICKS_PER_SECOND };
}

function folders(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function text(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
