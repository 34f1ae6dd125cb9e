import { createServer, type IncomingHttpHeaders } from "node:http";
import { once } from "node:events";

/** For tests: somebody who takes messages, and answers as it is told. */
export interface Receiver {
  url: string;
  got: { path: string; headers: IncomingHttpHeaders; body: string }[];
  /** Of the next requests, in order; 200 afterwards. `broken` ends the connection. */
  answers: (number | "broken" | { status: number; headers: Record<string, string> })[];
  close: () => Promise<void>;
}

export async function openReceiver(): Promise<Receiver> {
  const receiver: Receiver = { url: "", got: [], answers: [], close: async () => undefined };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString("utf8");
    receiver.got.push({ path: request.url ?? "", headers: request.headers, body });
    const answer = receiver.answers.shift() ?? 200;
    if (answer === "broken") {
      request.socket.destroy();
      return;
    }
    const { status, headers } = typeof answer === "number" ? { status: answer, headers: {} } : answer;
    response.writeHead(status, headers).end("ok");
  });
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
