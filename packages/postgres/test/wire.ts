/** Just enough of PostgreSQL's protocol to separate calls, and their answers, from each other. */

const BIND = code("B");
const SYNC = code("S");
const QUERY = code("Q");
const READY = code("Z");

/** Whole messages out of a stream of bytes. */
export class MessageReader {
  #rest: Buffer = Buffer.alloc(0);
  /** A client's first message has no type. */
  #untyped: boolean;

  constructor(side: "client" | "server") {
    this.#untyped = side === "client";
  }

  read(data: Buffer): Buffer[] {
    this.#rest = this.#rest.length === 0 ? data : Buffer.concat([this.#rest, data]);
    const messages: Buffer[] = [];
    for (;;) {
      const header = this.#untyped ? 0 : 1;
      if (this.#rest.length < header + 4) return messages;
      const end = header + this.#rest.readInt32BE(header);
      if (this.#rest.length < end) return messages;
      messages.push(this.#rest.subarray(0, end));
      this.#rest = this.#rest.subarray(end);
      this.#untyped = false;
    }
  }
}

/** The name of the prepared statement that a message executes, which is the name of the store's call. */
export function statementName(message: Buffer): string | undefined {
  if (message[0] !== BIND) return undefined;
  const begin = message.indexOf(0, 5) + 1;
  return message.toString("utf8", begin, message.indexOf(0, begin));
}

/** Whether the message completes a unit that the server answers with one "ready". */
export function endsCall(message: Buffer): boolean {
  return message[0] === SYNC || message[0] === QUERY;
}

/** Whether the message belongs to a call: what comes before (passwords) and after (termination) does not. */
export function isPartOfCall(message: Buffer): boolean {
  return "PBDEQS".includes(String.fromCharCode(message[0] as number));
}

export function endsAnswer(message: Buffer): boolean {
  return message[0] === READY;
}

/** A call that the server answers with this error, without any effect. */
export function failingCall(sqlState: string, text: string): Buffer {
  const sql = `do $$ begin raise exception using errcode = '${sqlState}', message = '${text}'; end $$`;
  const body = Buffer.from(`${sql}\0`);
  const message = Buffer.alloc(5);
  message[0] = QUERY;
  message.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([message, body]);
}

function code(letter: string): number {
  return letter.charCodeAt(0);
}
