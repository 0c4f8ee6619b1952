/** Puts a stream of HTTP/2 under a session: gRPC's headers and trailers around it. */
import type { Buffer } from "node:buffer";
import type { ServerHttp2Stream } from "node:http2";
import type { Link } from "@holdfast/protocol/store";
import type { Caller } from "./caller.ts";
import type { MountedSession, StoreService } from "./store-service.ts";

/** Serves `StoreService.Session` on a stream whose headers were read, and whose caller is known. */
export function serveSession(service: StoreService, stream: ServerHttp2Stream, caller?: Caller): MountedSession {
  stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => {
    // Node asks once more when the other side resets a stream that is about to end; whoever answers twice ends the process.
    if (stream.destroyed || stream.closed || stream.sentTrailers !== undefined) return;
    stream.sendTrailers({ "grpc-status": "0" });
  });
  const link: Link = {
    write: (bytes) => !stream.destroyed && stream.write(bytes),
    pause: () => void stream.pause(),
    resume: () => void stream.resume(),
    end: () => void stream.end(),
    destroy: () => void stream.destroy(),
  };
  const session = service.session(link, caller);
  stream.on("data", (chunk: Buffer) => session.data(chunk));
  stream.on("drain", () => session.drained());
  stream.on("end", () => {
    stream.end();
    session.closed();
  });
  stream.on("error", () => session.closed());
  stream.on("close", () => session.closed());
  return session;
}
