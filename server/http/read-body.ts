import type { IncomingMessage } from "node:http";

/** Reads a body. @throws what `tooLarge` returns, above `mostBytes`; Error when the caller left */
export async function readBody(
  request: IncomingMessage,
  mostBytes: number,
  tooLarge: () => Error,
): Promise<Buffer<ArrayBuffer>> {
  if (Number(request.headers["content-length"] ?? 0) > mostBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let length = 0;
  // The socket is not destroyed when the body is too long, because the answer uses it.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > mostBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
