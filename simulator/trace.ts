/** What happened, in order: as a hash that two equal runs share, and as lines for people. */
export interface TraceLine {
  readonly at: number;
  readonly who: string;
  /** The run that the line is about, if any. */
  readonly runId: string | undefined;
  readonly text: string;
}

export class Trace {
  readonly lines: TraceLine[] = [];
  #high = 0x811c9dc5;
  #low = 0x1b873593;

  add(at: number, who: string, runId: string | undefined, text: string): void {
    this.lines.push({ at, who, runId, text });
    this.#mix(`${at.toFixed(3)} ${who} ${runId ?? ""} ${text}`);
  }

  #mix(text: string): void {
    let high = this.#high;
    let low = this.#low;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      high = Math.imul(high ^ code, 0x01000193);
      low = Math.imul(low ^ code, 0x85ebca6b) ^ (low >>> 13);
    }
    this.#high = high;
    this.#low = low;
  }

  get hash(): string {
    const hex = (n: number): string => (n >>> 0).toString(16).padStart(8, "0");
    return hex(this.#high) + hex(this.#low);
  }

  /** The lines about these runs, and those about no run in particular. */
  about(runIds: ReadonlySet<string>, names: ReadonlyMap<string, string>): string[] {
    return this.lines
      .filter(({ runId }) => runId === undefined || runIds.has(runId))
      .map(({ at, who, runId, text }) => {
        const name = runId === undefined ? "" : ` ${names.get(runId) ?? runId}`;
        return `${at.toFixed(1).padStart(10)} ${who.padEnd(8)}${name} ${text}`;
      });
  }
}
