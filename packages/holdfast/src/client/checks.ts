import { HoldfastError } from "../errors/holdfast-error.ts";

export function requireDate(date: Date | undefined, where: string, option: string): void {
  if (date === undefined || (date instanceof Date && !Number.isNaN(date.getTime()))) return;
  throw new HoldfastError("invalid_option", `${where}: ${option} is not a valid Date.`, { data: { option } });
}

export function requireOneOf(value: string | undefined, known: readonly string[], where: string, option: string): void {
  if (value === undefined || known.includes(value)) return;
  const choices = known.map((one) => JSON.stringify(one)).join(", ");
  throw new HoldfastError("invalid_option", `${where}: ${option} is ${JSON.stringify(value)}; it may be ${choices}.`, {
    data: { option },
  });
}
