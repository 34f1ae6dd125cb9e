/** Writes an answer to the connection: headers, then the body, ended as requested. */
import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Reply, ReplyBody } from "./reply.ts";

/**
 * How to send. `shape` may change or cut the bytes; `count` receives the number of bytes sent; `ending` is called before the last
 * byte is written: the client may have its whole answer from then on.
 */
export type SendOptions = {
  readonly shape: (bytes: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;
  readonly framing: "length" | "close" | "short";
  readonly count: (bytes: number) => void;
  readonly ending: () => void;
  readonly method: string;
};

function bytesOf(body: ReplyBody): { readonly sizeBytes: number; readonly bytes: () => AsyncIterable<Buffer> } {
  if (body.kind === "stream") return body;
  const buffer = body.kind === "text" ? Buffer.from(body.text) : Buffer.alloc(0);
  async function* once(): AsyncGenerator<Buffer> {
    if (buffer.length > 0) yield buffer;
  }
  return { sizeBytes: buffer.length, bytes: once };
}

/** Sends a reply and resolves after the last byte was passed to the socket. Rejects when the connection breaks or is cut. */
export async function sendReply(response: ServerResponse, reply: Reply, options: SendOptions): Promise<void> {
  try {
    const { sizeBytes, bytes } = bytesOf(reply.body);
    for (const [name, value] of Object.entries(reply.headers)) response.setHeader(name, value);
    const bodiless = reply.status === 204 || reply.status === 304;
    if (!bodiless && options.method !== "HEAD") response.setHeader("content-length", sizeBytes);
    if (options.framing === "close") {
      response.shouldKeepAlive = false;
      response.removeHeader("content-length");
      response.removeHeader("transfer-encoding");
    }
    if (options.framing === "short") response.shouldKeepAlive = false;
    response.writeHead(reply.status);
    if (options.method === "HEAD" || bodiless) {
      options.ending();
      response.end();
      return;
    }
    async function* counted(): AsyncGenerator<Buffer> {
      let leftBytes = sizeBytes;
      for await (const chunk of options.shape(bytes())) {
        options.count(chunk.length);
        leftBytes -= chunk.length;
        if (leftBytes <= 0) options.ending();
        yield chunk;
      }
      options.ending();
    }
    if (options.framing !== "short") {
      await pipeline(counted(), response);
      return;
    }
    await pipeline(counted(), response, { end: false });
    response.flushHeaders();
    response.socket?.end();
  } finally {
    if (reply.body.kind === "stream") reply.body.close();
  }
}
