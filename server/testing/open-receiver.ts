import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";

/** For tests: an HTTP server that records requests and answers as it is told. */
export interface Receiver {
  url: string;
  got: { path: string; headers: IncomingHttpHeaders; body: string }[];
  /** Answers to the next requests, in order; 200 afterwards. `broken` closes the connection, a promise delays the answer. */
  answers: (number | "broken" | { status: number; headers: Record<string, string> } | Promise<number>)[];
  close: () => Promise<void>;
}

export async function openReceiver(): Promise<Receiver> {
  const receiver: Receiver = { url: "", got: [], answers: [], close: async () => undefined };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => void answer(Buffer.concat(chunks).toString("utf8"), { request, response }));
  });
  const answer = async (
    body: string,
    { request, response }: { request: IncomingMessage; response: ServerResponse },
  ) => {
    receiver.got.push({ path: request.url ?? "", headers: request.headers, body });
    const told = (await receiver.answers.shift()) ?? 200;
    if (told === "broken") {
      request.socket.destroy();
      return;
    }
    const { status, headers } = typeof told === "number" ? { status: told, headers: {} } : told;
    response.writeHead(status, headers).end("ok");
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  receiver.url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  receiver.close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return receiver;
}
