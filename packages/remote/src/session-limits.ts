/** The limits of a session, as a client keeps them; the server may say less. */

/** Calls that are sent and not answered; heartbeats go out all the same. */
export const CALLS_IN_FLIGHT_MAX = 60;
/** Larger bodies travel in parts of this size. */
export const PART_BYTES = 256 * 1024;
/** A part, and what is around it. */
export const MESSAGE_BYTES_MAX = PART_BYTES + 64 * 1024;
export const CALL_BYTES_MAX = 64 * 1024 * 1024;
export const PAYLOAD_BYTES_MAX = 2 * 1024 * 1024;
/** How long a call waits for its answer. */
export const CALL_LIMIT_MS = 30_000;
/** How long a session may be silent while nobody waits, before it is asked for a sign of life. */
export const IDLE_PING_MS = 20_000;
/** How long silence is borne while somebody waits, at most; a third of the shortest lease if that is less. */
export const DEAD_MS_MAX = 10_000;
/** The delay before the next attempt is a random part of this, doubled after each failure. */
export const RECONNECT_MS_FIRST = 200;
export const RECONNECT_MS_MAX = 5_000;
/** How long one attempt to open a session may take. */
export const OPEN_LIMIT_MS = 10_000;
