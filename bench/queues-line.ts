import type { Client } from "holdfast";

export async function lineOf(_kind: string, _url: string, _hf: Client, _count: number): Promise<string> {
  return "";
}
