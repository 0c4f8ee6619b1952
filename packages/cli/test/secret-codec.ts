// The codec of a store whose payloads are encrypted.
import { encrypted } from "holdfast/codecs";

export const codec = encrypted({ current: "k", keys: { k: new Uint8Array(32).fill(7) } });
