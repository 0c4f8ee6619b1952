/** How bodies may be compressed. One that cannot be read is its sender's fault, however it is broken. */
import { Code, ConnectError } from "@connectrpc/connect";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";

type Compression = typeof compressionGzip;

export const COMPRESSIONS: Compression[] = [blaming(compressionGzip), blaming(compressionBrotli)];

function blaming(compression: Compression): Compression {
  const { name, compress } = compression;
  return {
    name,
    compress,
    async decompress(bytes, readMaxBytes) {
      try {
        return await compression.decompress(bytes, readMaxBytes);
      } catch (error) {
        if (ConnectError.from(error).code === Code.ResourceExhausted) throw error;
        throw new ConnectError(`The body is not what ${name} makes.`, Code.InvalidArgument);
      }
    },
  };
}
