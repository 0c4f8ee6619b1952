/** What the server has done, in the text format of Prometheus. */
const LABELS_MAX = 1_000;

export class ServerCounts {
  readonly #calls = new Map<string, number>();
  /** Connections that are open. */
  connections = 0;
  /** Sessions of Holdfast's own clients that are open. */
  sessions: () => number = () => 0;

  answered(call: string, outcome: string): void {
    const labels = `{call="${call}",outcome="${outcome}"}`;
    if (!this.#calls.has(labels) && this.#calls.size >= LABELS_MAX) return;
    this.#calls.set(labels, (this.#calls.get(labels) ?? 0) + 1);
  }

  text(): string {
    return [
      "# HELP holdfast_server_calls_total Calls that were answered.",
      "# TYPE holdfast_server_calls_total counter",
      ...[...this.#calls].map(([labels, count]) => `holdfast_server_calls_total${labels} ${count}`),
      "# HELP holdfast_server_connections Connections that are open.",
      "# TYPE holdfast_server_connections gauge",
      `holdfast_server_connections ${this.connections}`,
      "# HELP holdfast_server_sessions Sessions of clients and workers that are open.",
      "# TYPE holdfast_server_sessions gauge",
      `holdfast_server_sessions ${this.sessions()}`,
      "",
    ].join("\n");
  }
}
