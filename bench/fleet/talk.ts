import { type Agent, type IncomingMessage, request } from "node:http";
import { z } from "zod";
import { nodeMessage, type NodeMessage } from "#protocol/wire/commands.ts";

/** Talks to the hub like a node, with little work per call: thousands of nodes share one core. */

export interface HubAddress {
  url: string;
  agent: Agent;
}

const answer = z.object({ result: z.object({ data: z.unknown() }) });
/** Time limit of a call. */
const CALL_MS = 30_000;

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Calls a mutation. @throws Error with the status and the hub's message */
export function callHub(hub: HubAddress, call: { path: string; body: unknown; credential?: string }): Promise<unknown> {
  const body = JSON.stringify(call.body);
  return new Promise((resolve, reject) => {
    const sent = request(`${hub.url}/api/trpc/${call.path}`, {
      method: "POST",
      agent: hub.agent,
      timeout: CALL_MS,
      headers: {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        ...(call.credential === undefined ? {} : { authorization: `Bearer ${call.credential}` }),
      },
    });
    sent.on("timeout", () => sent.destroy(new Error("no answer")));
    sent.on("error", reject);
    sent.on("response", (response) => {
      textOf(response).then((text) => {
        if (response.statusCode !== 200) reject(new Error(`${response.statusCode} ${text.slice(0, 300)}`));
        else resolve(answer.parse(JSON.parse(text)).result.data);
      }, reject);
    });
    sent.end(body);
  });
}

interface Streaming {
  bootId: string;
  credential: string;
  onOpen: () => void;
  onMessage: (message: NodeMessage) => void;
}

/** Holds a node's stream on a connection of its own until it ends. @throws Error when it cannot be opened */
export function openStream(hub: HubAddress, { bootId, credential, onOpen, onMessage }: Streaming): Promise<void> {
  const input = encodeURIComponent(JSON.stringify({ bootId }));
  return new Promise((resolve, reject) => {
    const sent = request(`${hub.url}/api/trpc/node.stream?input=${input}`, {
      agent: false,
      headers: { accept: "text/event-stream", authorization: `Bearer ${credential}` },
    });
    sent.on("error", reject);
    sent.on("response", (response) => {
      if (response.statusCode !== 200) {
        response.resume();
        reject(new Error(`${response.statusCode} for a stream`));
        return;
      }
      onOpen();
      let rest = "";
      response.setEncoding("utf8");
      response.on("data", (text: string) => {
        const lines = (rest + text).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          if (!line.startsWith("data: {")) continue;
          const message = nodeMessage.safeParse(JSON.parse(line.slice(6)));
          if (message.success) onMessage(message.data);
        }
      });
      response.on("close", resolve);
      response.on("error", () => resolve());
    });
    sent.end();
  });
}
